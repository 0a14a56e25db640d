"""LP classes: the linear programme of the area bound says what the CPU does and what the GPUs do; each class then goes
longest first.

The linear relaxation and its one split task are due to J. K. Lenstra, D. B. Shmoys and E. Tardos (1990), "Approximation
algorithms for scheduling unrelated parallel machines"; for two classes of devices it is solved by sorting. The rest is
R. L. Graham's longest processing time first (1969).
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FITTED
from hybrid_ml_scheduler.core.holding import PlanRule
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.physics.choices import alone_on_cpu, split_on
from hybrid_ml_scheduler.physics.node import CPU_ONLY
from hybrid_ml_scheduler.physics.node import WHOLE as NOT_DIVISIBLE
from hybrid_ml_scheduler.schedulers.grid import as_column
from hybrid_ml_scheduler.schedulers.holding.heft import insert_in_order
from hybrid_ml_scheduler.schedulers.holding.insertion import depths
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, PlanHold
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks

__all__ = ["LpClasses", "planned_by_classes"]


class LpClasses(PlanHold):
    """The CPU gets the tasks that gain least from a GPU, the GPUs all others, one task is split; longest first.

    Tasks that wait for others are planned by HEFT's rank instead: the programme knows no order.
    """

    name = "lp_classes"
    reason = "the linear programme says which class of devices does it; in a class the longest goes first"

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """By the classes; a graph by rank."""
        tasks = graph.tasks
        if len(graph.parents):
            ranks = upward_ranks(
                np.minimum(alone_on_cpu(tasks), tasks.gpu_s.min(axis=1)), graph.parent_offsets, graph.parents
            )
            depth = depths(graph.parent_offsets, graph.parents)
            return insert_in_order(graph, np.lexsort((graph.identity, depth, -ranks)), depth, as_column(WHOLE))
        return planned_by_classes(graph)


def planned_by_classes(graph: KnownGraph) -> PlanRule:
    """The plan of the linear programme for tasks that wait for nobody."""
    tasks = graph.tasks
    cpu_s, gpu_s = alone_on_cpu(tasks), shared_seconds(tasks)
    with np.errstate(invalid="ignore"):  # what can run nowhere gains nothing
        by_gain = np.lexsort((graph.identity, cpu_s / gpu_s))
    longest = np.lexsort((graph.identity, -np.minimum(gpu_s, cpu_s)))
    fractions = _shares(by_gain, cpu_s, gpu_s, tasks.memory_rule >= NOT_DIVISIBLE, graph.backlog)
    gpus = np.zeros(len(gpu_s), dtype=np.int64)
    _longest_first(longest, tasks, graph.backlog.copy(), fractions, gpus)
    split = (fractions > 0.0) & (fractions < 1.0)
    turns = np.empty(len(gpu_s), dtype=np.int64)
    turns[np.concatenate([longest[split[longest]], longest[~split[longest]]])] = np.arange(len(gpu_s))
    return PlanRule(fractions=fractions, gpus=gpus, turns=turns)


def shared_seconds(tasks: BatchTerms) -> FloatColumn:
    """Seconds on one GPU if all GPUs worked at a task's pace on the average; infinite if it fits none."""
    rate = np.zeros(len(tasks.cpu_s))
    for gpu, kind in enumerate(tasks.gpu_kind):
        fits = (tasks.memory_mb <= tasks.gpu_memory_mb[gpu]) & (tasks.memory_rule % NOT_DIVISIBLE != CPU_ONLY)
        rate += np.where(fits, 1.0 / tasks.gpu_s[:, kind], 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(len(tasks.gpu_kind) / rate)


@compiled(nogil=True)
def _shares(
    by_gain: IntColumn, cpu_s: FloatColumn, gpu_s: FloatColumn, whole: BoolColumn, backlog: FloatColumn
) -> FloatColumn:
    """The linear programme by sorting: the CPU takes what gains least until it is as busy as the GPUs; one is split."""
    fractions, gpus = np.ones(cpu_s.shape[0]), backlog.shape[0] - 1
    cpu_load, gpu_load = backlog[0], backlog[1:].sum()
    for row in range(cpu_s.shape[0]):
        if gpu_s[row] < math.inf:
            gpu_load += gpu_s[row]
    for row in by_gain:
        if gpu_s[row] == math.inf:
            fractions[row] = 0.0
            cpu_load += cpu_s[row] if cpu_s[row] < math.inf else 0.0
            continue
        after = cpu_load + cpu_s[row]
        rest = (gpu_load - gpu_s[row]) / gpus
        if after <= rest:
            fractions[row] = 0.0
            cpu_load, gpu_load = after, gpu_load - gpu_s[row]
            continue
        if after == math.inf:
            break  # it runs on GPUs only, and so does what gains as much
        share = (after - rest) / (cpu_s[row] + gpu_s[row] / gpus)
        if share < 1.0:
            fractions[row] = (1.0 if share >= 0.5 else 0.0) if whole[row] else share
        break
    return fractions


@compiled(nogil=True)
def _longest_first(
    longest: IntColumn, tasks: BatchTerms, busy: FloatColumn, fractions: FloatColumn, gpus: IntColumn
) -> None:
    """Give what goes to the GPUs to the one that ends first, the split task before all others, then the longest."""
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    for split in (True, False):
        for row in longest:
            if fractions[row] == 0.0 or (fractions[row] < 1.0) != split:
                continue
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            best, chosen = math.inf, -1
            for gpu in range(gpu_kind.shape[0]):
                _, _, gpu_part, status = split_on(gpu, fractions[row], terms)
                if status == FITTED and busy[gpu + 1] + gpu_part < best:
                    best, chosen = busy[gpu + 1] + gpu_part, gpu
            if chosen < 0:
                fractions[row], chosen, best = 0.0, 0, busy[1]
            busy[chosen + 1], gpus[row] = best, chosen
