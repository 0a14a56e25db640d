"""The area argument: the cheapest weighted way to do each task, and the weights that prove the most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.physics.durations import Durations
from hybrid_ml_scheduler.physics.gangs import has_gangs
from hybrid_ml_scheduler.physics.node import MemoryRule, Node
from hybrid_ml_scheduler.physics.optimum import fitting_share

__all__ = ["Ways", "best_weights", "weighted_work"]

_BISECTIONS = 60
_ASCENTS = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """Every extreme way to do each task: on the CPU, or as much as fits (or all, paged) on a GPU of some class.

    Row i on class k costs the CPU `rest_s[i, k]` and the GPUs `gpu_s[i, k]` seconds (those of a gang together);
    `paged_s` is infinite where paging is not allowed. `class_size[k]` GPUs share a class, and by symmetry a weight; so
    do the `slots` of the CPU. A gang over several classes is no cheaper than one of as many GPUs of its cheapest.
    """

    cpu_s: FloatColumn
    rest_s: FloatColumn
    gpu_s: FloatColumn
    paged_s: FloatColumn
    class_size: IntColumn
    slots: int

    @classmethod
    def of(cls, batch: TaskBatch, node: Node, seconds: Durations) -> Ways:
        """Gather the ways of a batch with the true durations."""
        classes = list(
            dict.fromkeys(zip(seconds.gpu_kind.tolist(), node.gpu_column("memory_mb").tolist(), strict=True))
        )
        keys = list(zip(seconds.gpu_kind.tolist(), node.gpu_column("memory_mb").tolist(), strict=True))
        shape = (len(batch), len(classes))
        rest, gpu, paged = np.empty(shape), np.empty(shape), np.full(shape, np.inf)
        _fill_ways(
            seconds.cpu_s,
            seconds.gpu_s,
            seconds.paged_s,
            batch.memory_required,
            batch.duration_factor,
            batch.divisible & (batch.gpus_required == 1),
            np.array([kind for kind, _ in classes], dtype=np.int64),
            np.array([memory for _, memory in classes]),
            node.memory_rule == MemoryRule.PAGE,
            rest,
            gpu,
            paged,
        )
        sizes = np.array([keys.count(one) for one in classes], dtype=np.int64)
        cpu = seconds.cpu_s * batch.duration_factor
        if has_gangs(batch):
            width = np.maximum(batch.gpus_required, 1)[:, None]
            gpu, paged = gpu * width, paged * width
        for column in (rest, gpu, paged):
            column[batch.gpus_required == 0] = math.inf  # what needs no GPU has the CPU alone
        cpu = np.where(batch.gpu_only, math.inf, cpu)
        if batch.gpu_only.any():  # what fits no GPU fails and adds no work
            cpu[np.isinf(np.column_stack([cpu, gpu, paged])).all(axis=1)] = 0.0
        return cls(cpu_s=cpu, rest_s=rest, gpu_s=gpu, paged_s=paged, class_size=sizes, slots=node.cpu.slots)

    def take(self, rows: npt.NDArray[np.int64]) -> Ways:
        """The ways of some of the tasks."""
        return Ways(
            cpu_s=self.cpu_s[rows],
            rest_s=self.rest_s[rows],
            gpu_s=self.gpu_s[rows],
            paged_s=self.paged_s[rows],
            class_size=self.class_size,
            slots=self.slots,
        )


@compiled()
def _fill_ways(
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    memory: FloatColumn,
    factor: FloatColumn,
    divisible: BoolColumn,
    kinds: IntColumn,
    gpu_memory: FloatColumn,
    paging: bool,
    rest: FloatColumn,
    gpu: FloatColumn,
    paged: FloatColumn,
) -> None:
    for row in range(cpu_s.shape[0]):
        for k in range(kinds.shape[0]):
            share = fitting_share(memory[row], gpu_memory[k])
            rest[row, k] = (1.0 - share) * cpu_s[row] * factor[row]
            gpu[row, k] = share * gpu_s[row, kinds[k]] * factor[row]
            if share < 1.0 and not divisible[row]:  # it cannot be cut to what fits
                rest[row, k], gpu[row, k] = math.inf, math.inf
            if paging and share < 1.0:
                paged[row, k] = paged_s[row, kinds[k]] * factor[row]


def weighted_work(ways: Ways, weights: FloatColumn) -> FloatColumn:
    """The least weighted work of every task; `weights` are those of the CPU and of one GPU of each class."""
    out = np.empty(len(ways.cpu_s))
    _sweep(ways.cpu_s, ways.rest_s, ways.gpu_s, ways.paged_s, weights, out, np.zeros(len(weights)))
    return out


@compiled(inline="always")
def _on_cpu(weight: float, cpu_s: float) -> float:
    """The weighted work of a task on the CPU; a weight of 0 makes no way of one that never runs there."""
    return math.inf if cpu_s == math.inf else weight * cpu_s


@compiled(inline="always")
def _cheaper(
    least: float, cpu_s: float, class_s: float, rest_s: float, gpu_s: float, paged_s: float, cpu: float, gpu: float
) -> tuple[float, float, float]:
    """The cheaper of the best way so far (its weighted work, its seconds on CPU and GPU) and those on one class."""
    split, whole = cpu * rest_s + gpu * gpu_s, gpu * paged_s
    if split < least:
        least, cpu_s, class_s = split, rest_s, gpu_s
    if whole < least:
        least, cpu_s, class_s = whole, 0.0, paged_s
    return least, cpu_s, class_s


@compiled()
def _sweep(
    cpu_s: FloatColumn,
    rest_s: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    weights: FloatColumn,
    out: FloatColumn,
    load: FloatColumn,
) -> float:
    """Cheapest way of each task, the total, and in `load` the seconds that these ways put on each class."""
    total = 0.0
    load[:] = 0.0
    for row in range(cpu_s.shape[0]):
        least, on_cpu, on_gpu, chosen = _on_cpu(weights[0], cpu_s[row]), cpu_s[row], 0.0, 0
        for k in range(gpu_s.shape[1]):
            before = least
            least, on_cpu, on_gpu = _cheaper(
                least, on_cpu, on_gpu, rest_s[row, k], gpu_s[row, k], paged_s[row, k], weights[0], weights[k + 1]
            )
            chosen = k + 1 if least < before else chosen
        load[0] += on_cpu
        load[chosen] += on_gpu
        if out.shape[0] > 0:
            out[row] = least
        total += least
    return total


@compiled()
def _sweep_one_class(
    cpu_s: FloatColumn,
    rest_s: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    cpu: float,
    gpu: float,
) -> tuple[float, float, float]:
    """The same total and loads where all GPUs are alike: without a choice of class the loop has no branch."""
    total, cpu_load, gpu_load = 0.0, 0.0, 0.0
    for row in range(cpu_s.shape[0]):
        least, on_cpu, on_gpu = _cheaper(
            _on_cpu(cpu, cpu_s[row]), cpu_s[row], 0.0, rest_s[row, 0], gpu_s[row, 0], paged_s[row, 0], cpu, gpu
        )
        total += least
        cpu_load += on_cpu
        gpu_load += on_gpu
    return total, cpu_load, gpu_load


def best_weights(ways: Ways) -> FloatColumn:
    """Weights (CPU, then one GPU of each class) that make the area bound as large as possible."""
    arrays = (ways.cpu_s, ways.rest_s, ways.gpu_s, ways.paged_s)
    if len(ways.class_size) == 1:
        return _bisected(*arrays, int(ways.class_size[0]), ways.slots)
    return _ascended(*arrays, ways.class_size.astype(np.float64), float(ways.slots))


@compiled()
def _bisected(
    cpu: FloatColumn, rest: FloatColumn, gpu: FloatColumn, paged: FloatColumn, size: int, slots: int
) -> FloatColumn:
    """One class of GPUs: the bound is concave in the CPU's weight; halve by the sign of its slope."""
    low, high = 0.0, 1.0
    best, chosen = -1.0, np.array([1.0 / slots, 0.0])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        cpu_weight, gpu_weight = middle / slots, (1.0 - middle) / size
        total, cpu_load, gpu_load = _sweep_one_class(cpu, rest, gpu, paged, cpu_weight, gpu_weight)
        if total > best:
            best = total
            chosen[0], chosen[1] = cpu_weight, gpu_weight
        if middle in (low, high):  # no number lies between them, and every further round would be this one
            break
        if cpu_load / slots > gpu_load / size:
            low = middle
        else:
            high = middle
    return chosen


@compiled()
def _ascended(
    cpu: FloatColumn, rest: FloatColumn, gpu: FloatColumn, paged: FloatColumn, sizes: FloatColumn, slots: float
) -> FloatColumn:
    """Several classes: exponentiated gradient on the simplex, keeping the best weights seen."""
    classes = sizes.shape[0]
    count = np.ones(classes + 1)
    count[0], count[1:] = slots, sizes
    mass = count / count.sum()
    weights, load, nothing = np.empty(classes + 1), np.empty(classes + 1), np.empty(0)
    best, chosen = -1.0, mass / count
    for turn in range(_ASCENTS):
        weights[:] = mass / count
        total = _sweep(cpu, rest, gpu, paged, weights, nothing, load)
        if total > best:
            best = total
            chosen = weights.copy()
        slope = load / count  # the derivative with respect to the mass of a class
        scale = max(np.max(slope), 1e-300)
        mass = mass * np.exp((slope / scale - 1.0) * (1.0 / (1.0 + 0.1 * turn)))
        mass = mass / mass.sum()
    return chosen
