"""The running totals of one strategy, in constant memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core import NO_GPU, FloatColumn, Outcome
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.physics import CoExecution, Tariff, formulas

__all__ = ["Tally"]

_RECENT = 1000
_SUMS = ("time_s", "latency_s", "wait_s", "energy_j", "cost_usd", "device_s", "gpu_fraction")
_COUNTS = ("tasks", "failed", "out_of_memory", "cpu", "gpu", "split")


@compiled()
def _added(
    arrival_s: FloatColumn,
    ready_s: FloatColumn,
    finish_s: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    gpu_fraction: FloatColumn,
    gpu: npt.NDArray[np.int32],
    energy_j: FloatColumn,
    cost_usd: FloatColumn,
    serial: bool,
    sums: FloatColumn,
    recent: FloatColumn,
    tasks: int,
    makespan_s: float,
    on_cpu: int,
    on_gpu: int,
    on_both: int,
) -> tuple[float, int, int, int]:
    """Add finished tasks to the sums (in the order of `_SUMS`) one by one; return makespan and places."""
    for row in range(len(finish_s)):
        execution_s = formulas.execution_s(cpu_s[row], gpu_s[row], serial)
        recent[(tasks + row) % _RECENT] = finish_s[row] - arrival_s[row]
        sums[0] += execution_s
        sums[1] += finish_s[row] - arrival_s[row]
        sums[2] += finish_s[row] - ready_s[row] - execution_s
        sums[3] += energy_j[row]
        sums[4] += cost_usd[row]
        sums[5] += cpu_s[row] + gpu_s[row]
        sums[6] += gpu_fraction[row]
        makespan_s = max(makespan_s, finish_s[row])
        if gpu[row] == NO_GPU:
            on_cpu += 1
        elif cpu_s[row] > 0.0:
            on_both += 1
        else:
            on_gpu += 1
    return makespan_s, on_cpu, on_gpu, on_both


class Tally:
    """Sums over all outcomes of a run, and the latencies of the latest thousand."""

    __slots__ = (*_SUMS, *_COUNTS, "_recent", "makespan_s")

    def __init__(self) -> None:
        for name in _SUMS:
            setattr(self, name, 0.0)
        for name in _COUNTS:
            setattr(self, name, 0)
        self.makespan_s = 0.0
        self._recent = np.zeros(_RECENT)

    time_s: float
    latency_s: float
    wait_s: float
    energy_j: float
    cost_usd: float
    device_s: float
    gpu_fraction: float
    tasks: int
    failed: int
    out_of_memory: int
    cpu: int
    gpu: int
    split: int

    def add(self, outcome: Outcome) -> None:
        """Count one outcome; a failed task counts as failed and nothing else."""
        # Unpacked at once: one of these is counted for every strategy and task, and names are looked up one by one.
        (
            _, gpu_fraction, gpu, arrival_s, ready_s, _, _, finish_s,
            execution_s, cpu_s, gpu_s, energy_j, cost_usd, out_of_memory, failed,
        ) = outcome  # fmt: skip
        if out_of_memory:
            self.out_of_memory += 1
        if failed:
            self.failed += 1
            return
        latency = finish_s - arrival_s
        self._recent[self.tasks % _RECENT] = latency
        self.tasks += 1
        self.time_s += execution_s
        self.latency_s += latency
        self.wait_s += finish_s - ready_s - execution_s
        self.energy_j += energy_j
        self.cost_usd += cost_usd
        self.device_s += cpu_s + gpu_s
        self.gpu_fraction += gpu_fraction
        if finish_s > self.makespan_s:
            self.makespan_s = finish_s
        if gpu == NO_GPU:
            self.cpu += 1
        elif cpu_s > 0.0:
            self.split += 1
        else:
            self.gpu += 1

    def add_all(self, columns: RunColumns, tariff: Tariff) -> None:
        """Count several outcomes; the sums are those of counting them one by one, to the last bit."""
        if not columns.completed.all():
            for outcome in columns.outcomes(np.zeros(len(columns), dtype=np.int64), tariff):
                self.add(outcome)
            return
        sums = np.array([getattr(self, name) for name in _SUMS])
        serial = columns.node.co_execution == CoExecution.SERIAL
        self.makespan_s, self.cpu, self.gpu, self.split = _added(
            columns.arrival_s, columns.ready_s, columns.finish_s, columns.cpu_s, columns.gpu_s, columns.gpu_fraction,
            columns.gpu, *columns.charges(tariff), serial, sums, self._recent, self.tasks,
            self.makespan_s, self.cpu, self.gpu, self.split,
        )  # fmt: skip
        for name, total in zip(_SUMS, sums.tolist(), strict=True):
            setattr(self, name, total)
        self.tasks += len(columns)
        self.out_of_memory += int(np.count_nonzero(columns.status))

    def mean(self, total: float) -> float | None:
        """Return a total per finished task."""
        return total / self.tasks if self.tasks else None

    def recent_percentile_s(self, percent: float) -> float | None:
        """Return a percentile of the latest latencies."""
        count = min(self.tasks, _RECENT)
        return float(np.percentile(self._recent[:count], percent)) if count else None

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        plain = {name: getattr(self, name) for name in (*_SUMS, *_COUNTS, "makespan_s")}
        return {**plain, "recent": self._recent.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        for name in (*_SUMS, *_COUNTS, "makespan_s"):
            setattr(self, name, state[name])
        self._recent = state["recent"].copy()
