"""What if one decision had been another: the run simulated again with that decision changed, and nothing else.

Independent tasks without noise under a compiled rule are run in three pieces (before, the task, after), each compiled;
everything else step by step with a strategy that really takes the other decision. Both give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import RunColumns, run_batch
from hybrid_ml_scheduler.core import (
    ClusterView,
    Decision,
    Learns,
    Outcome,
    RaceContext,
    Scheduler,
    TaskBatch,
    with_rule,
)
from hybrid_ml_scheduler.core.decisions import NO_GPU, device_name
from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView, Holds
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.core.protocols import BatchRule, Prepares, RuleKind
from hybrid_ml_scheduler.core.tasks import FloatColumn, Task
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.studies.race import run_known

__all__ = [
    "Alternative",
    "RunToChange",
    "Runs",
    "WhatIf",
    "alternatives_of",
    "changed_run",
    "costliest",
    "row_of",
    "task_called",
    "what_if",
]

Make = Callable[[], Scheduler]
Progress = Callable[[int], None]
_SPLITS = (0.25, 0.5, 0.75)
_LONGEST_NUMBER, _MOST_NAMED = 19, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One other decision for a task, and what it would have done to the task and to everybody after it.

    `others_s` is the change of the summed latency of all other tasks; less than 0 is better for them.
    """

    gpu_fraction: float
    gpu: int
    latency_s: float
    latency_change_s: float
    others_s: float
    makespan_s: float

    @property
    def total_change_s(self) -> float:
        """Change of the summed latency of all tasks."""
        return self.latency_change_s + self.others_s

    @property
    def device(self) -> str:
        """The device or the split, in words."""
        return device_name(self.gpu, self.gpu_fraction)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values; what would fail has no latency."""
        return {
            "device": self.device,
            "gpu_fraction": self.gpu_fraction,
            "latency_s": _known(self.latency_s),
            "latency_change_s": _known(self.latency_change_s),
            "others_change_s": _known(self.others_s),
            "total_change_s": _known(self.total_change_s),
            "makespan_s": _known(self.makespan_s),
        }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A task, what was decided for it, and the effect of every alternative, the best first."""

    task_id: int
    gpu_fraction: float
    gpu: int
    latency_s: float
    alternatives: tuple[Alternative, ...]
    label: str = ""

    @property
    def device(self) -> str:
        """Where the task ran, in words."""
        return device_name(self.gpu, self.gpu_fraction)

    @property
    def regret_s(self) -> float:
        """By how much the best alternative would have shortened the summed latency of all tasks; 0 if none would."""
        return max(0.0, -min((one.total_change_s for one in self.alternatives), default=0.0))

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return {
            "task_id": self.task_id,
            **({"label": self.label} if self.label else {}),
            "device": self.device,
            "gpu_fraction": self.gpu_fraction,
            "latency_s": _known(self.latency_s),
            "regret_s": self.regret_s,
            "alternatives": [one.to_mapping() for one in self.alternatives],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunToChange:
    """A run that can be simulated again: `make` gives the strategy anew, `free_s` when its devices come free at first.

    Only a compiled run may begin on busy devices.
    """

    make: Make
    known: KnownTasks
    level: Level = EXACT
    retrain_interval: int = 50
    free_s: FloatColumn | None = None


def what_if(run: RunToChange, task_id: int, progress: Progress | None = None) -> WhatIf:
    """Every alternative for one task of a run."""
    row = row_of(run.known.batch, task_id)
    return _compared(Runs(run), row, progress)


def costliest(run: RunToChange, count: int, looked_at: int, progress: Progress | None = None) -> list[WhatIf]:
    """The decisions that cost most among the tasks with the longest latency; so many of them are looked at."""
    return Runs(run).costliest(count, looked_at, progress)


def row_of(batch: TaskBatch, task_id: int) -> int:
    """The row of a task; one that is not there is refused."""
    rows = np.flatnonzero(batch.task_id == task_id)
    if not len(rows):
        first, last = batch.task_id.min(), batch.task_id.max()
        raise WorkloadError(f"There is no task {task_id} in this run; its tasks are numbered {first} to {last}.")
    return int(rows[0])


def task_called(batch: TaskBatch, name: str) -> int:
    """The id of the task that the user calls so: by its id in the file, else by its number."""
    if name in batch.labels:
        return int(batch.task_id[batch.labels.index(name)])
    if name.isascii() and name.isdigit() and len(name) < _LONGEST_NUMBER:
        return int(batch.task_id[row_of(batch, int(name))])
    raise WorkloadError(f"There is no task {name!r} in this run{nearest_hint(name, batch.labels[:_MOST_NAMED])}")


def alternatives_of(task: Task, node: Node) -> list[Decision]:
    """The CPU, every GPU, and for a task that may be cut three splits on every GPU; only where the task can run."""
    if task.gpus_required == 0:
        return [Decision(gpu_fraction=0.0, gpu=0)]
    shares = (*_SPLITS, 1.0) if task.divisible else (1.0,)
    found = [Decision(gpu_fraction=share, gpu=gpu) for gpu in range(node.num_gpus) for share in shares]
    return found if task.gpu_only else [Decision(gpu_fraction=0.0, gpu=0), *found]


def _compared(runs: Runs, row: int, progress: Progress | None) -> WhatIf:
    base = runs.base
    taken = (float(base.gpu_fraction[row]), int(base.gpu[row]))
    found = []
    for decision in alternatives_of(runs.batch.task(row), runs.node):
        share, gpu = decision.gpu_fraction, NO_GPU if decision.gpu_fraction == 0.0 else int(decision.gpu or 0)
        if progress is not None:
            progress(1)
        if (share, gpu) != taken:
            found.append(_effect(base, runs.run_with(row, decision), row, share, gpu))
    return WhatIf(
        task_id=int(runs.batch.task_id[row]),
        label=runs.batch.label(row) if runs.batch.labels else "",
        gpu_fraction=taken[0],
        gpu=taken[1],
        latency_s=float(base.latency_s[row]),
        alternatives=tuple(sorted(found, key=lambda one: one.total_change_s)),
    )


def _effect(base: RunColumns, other: RunColumns, row: int, share: float, gpu: int) -> Alternative:
    change = other.latency_s - base.latency_s
    both = np.isfinite(change)
    own = float(change[row]) if both[row] else math.inf
    finish = other.finish_s[np.isfinite(other.finish_s)]
    return Alternative(
        gpu_fraction=share,
        gpu=gpu,
        latency_s=float(other.latency_s[row]),
        latency_change_s=own,
        others_s=float(change[both].sum()) - (own if both[row] else 0.0),
        makespan_s=float(finish.max()) if len(finish) else math.nan,
    )


class Runs:
    """The run as it was, and the same run with one decision changed, compiled where that is possible."""

    def __init__(self, run: RunToChange) -> None:
        self.batch, self.node = run.known.batch, run.known.node
        self._run = run
        self._seconds = run.known.facts_for(run.level).seconds
        self._rule = _compiled_rule(run)
        if self._rule is None:
            if run.free_s is not None:
                raise PlanError("A run that begins on busy devices can be changed for strategies with a compiled form.")
            self.base = run_known(run.make(), run.known, run.level, retrain_interval=run.retrain_interval)
        else:
            self.base = run_batch(self.batch, self.node, self._rule, seconds=self._seconds, free_s=self._free_s())

    @property
    def is_compiled(self) -> bool:
        """Whether changed runs are run in compiled pieces."""
        return self._rule is not None

    def costliest(self, count: int, looked_at: int, progress: Progress | None = None) -> list[WhatIf]:
        """The decisions that cost most among so many tasks with the longest latency."""
        longest = np.argsort(-np.nan_to_num(self.base.latency_s, nan=-1.0), kind="stable")[:looked_at]
        found = [_compared(self, int(row), progress) for row in longest]
        return sorted(found, key=lambda one: -one.regret_s)[:count]

    def what_if(self, task_id: int) -> WhatIf:
        """Every alternative for one task."""
        return _compared(self, row_of(self.batch, task_id), None)

    def run_with(self, row: int, decision: Decision) -> RunColumns:
        """The whole run with this decision for this row."""
        if self._rule is None:
            return changed_run(self._run, int(self.batch.task_id[row]), decision)
        free = self._free_s()
        own = BatchRule(
            kind=RuleKind.PRESCRIBED,
            fractions=np.array([decision.gpu_fraction]),
            gpus=np.array([decision.gpu or 0], dtype=np.int64),
        )
        pieces = [
            self._piece(slice(0, row), self._rule, free),
            self._piece(slice(row, row + 1), own, free, sliced=False),
            self._piece(slice(row + 1, len(self.batch)), self._rule, free),
        ]
        return RunColumns.join([piece for piece in pieces if piece is not None])

    def _free_s(self) -> FloatColumn:
        free_s = self._run.free_s
        return np.zeros(self.node.num_gpus + self.node.cpu.slots) if free_s is None else free_s.copy()

    def _piece(self, rows: slice, rule: BatchRule, free: FloatColumn, *, sliced: bool = True) -> RunColumns | None:
        if rows.start == rows.stop:
            return None
        part = replace(
            self._seconds,
            cpu_s=self._seconds.cpu_s[rows],
            gpu_s=self._seconds.gpu_s[rows],
            paged_s=self._seconds.paged_s[rows],
        )
        own = _cut(rule, rows) if sliced else rule
        return run_batch(self.batch.take(rows), self.node, own, seconds=part, free_s=free)


def _cut(rule: BatchRule, rows: slice) -> BatchRule:
    """The rule of some rows; of independent tasks the order of decision is that of the rows."""
    return replace(
        rule,
        fractions=None if rule.fractions is None else rule.fractions[rows],
        gpus=None if rule.gpus is None else rule.gpus[rows],
    )


def _compiled_rule(run: RunToChange) -> BatchRule | None:
    """The strategy's rule where the run can be cut into pieces; None where it must be stepped."""
    batch, scheduler = run.known.batch, run.make()
    ruled = with_rule(scheduler)
    if ruled is None or batch.has_dependencies or batch.is_noisy or run.level != EXACT:
        return None
    if isinstance(scheduler, Prepares):
        scheduler.prepare(RaceContext(estimator=PhysicsEstimator(run.known.node), seed=run.known.seed))
    return ruled.rule(batch.visible)


def changed_run(run: RunToChange, task_id: int, decision: Decision) -> RunColumns:
    """Step a run in which the strategy really takes this decision for this task."""
    scheduler = run.make()
    kind = _HoldingWith if isinstance(scheduler, Holds) else _LearningWith if isinstance(scheduler, Learns) else _With
    changed = kind(scheduler, task_id, decision)
    return run_known(changed, run.known, run.level, retrain_interval=run.retrain_interval)


class _With:
    """A strategy that takes one prescribed decision and otherwise its own; its own is asked for in any case."""

    def __init__(self, scheduler: Scheduler, task_id: int, decision: Decision) -> None:
        self.name = scheduler.name
        self._inner, self._task_id, self._decision = scheduler, task_id, decision

    def prepare(self, context: RaceContext) -> None:
        """Hand on what is told before the run."""
        if isinstance(self._inner, Prepares):
            self._inner.prepare(context)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """The prescribed decision for the one task, else the strategy's."""
        own = self._inner.decide(task, cluster)
        return self._decision if task.task_id == self._task_id else own


class _LearningWith(_With):
    """The same for a strategy that learns from outcomes."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Hand on what happened."""
        if isinstance(self._inner, Learns):
            self._inner.observe(task, outcome)


class _HoldingWith(_LearningWith):
    """The same for a strategy that holds: the one task is committed as soon as it is ready, the others as it likes."""

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """The prescribed commitment first, then the strategy's own, which never sees the one task."""
        if self._task_id in held:
            yield Commitment(self._task_id, self._decision)
        if isinstance(self._inner, Holds):
            yield from self._inner.dispatch(_Others(held, self._task_id), cluster)


class _Others:
    """The held tasks without one."""

    def __init__(self, held: HeldTasks, without: int) -> None:
        self._held, self._without = held, without

    @property
    def fresh(self) -> Sequence[Task]:
        """Those that became ready since the strategy was last woken."""
        return [task for task in self._held.fresh if task.task_id != self._without]

    @property
    def arrived(self) -> Sequence[Task]:
        """All tasks that arrived since then."""
        return [task for task in self._held.arrived if task.task_id != self._without]

    def __len__(self) -> int:
        return len(self._held) - (self._without in self._held)

    def __iter__(self) -> Iterator[Task]:
        return (task for task in self._held if task.task_id != self._without)

    def __contains__(self, task_id: object) -> bool:
        return task_id != self._without and task_id in self._held
