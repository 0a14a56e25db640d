"""The contracts between rooms: what a strategy is given and what it may offer.

A strategy is any class with a `name` and `decide`. Everything else is a capability that it has
or has not: `prepare` (told once about the race), `observe` (learns from outcomes), `rule` (a compiled
form for whole batches), `rule_ahead` (the same for a stretch of an endless stream), `explain` (says why),
`capture`/`restore` (survives a checkpoint). What learners offer besides is in `core.learners`.
A `rule` or `rule_ahead` from a class above the one that `decide`
comes from is not asked: ask `core.with_rule` and `core.with_foresight` for these two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

from hybrid_ml_scheduler.core.decisions import Decision, Outcome, Parts
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.terms import BatchTerms, TaskTerms

__all__ = [
    "BatchRule",
    "ClusterView",
    "Doubts",
    "Estimator",
    "Explains",
    "Foresees",
    "HasRule",
    "Learns",
    "Prepares",
    "RaceContext",
    "Remembers",
    "RuleKind",
    "Scheduler",
    "with_foresight",
    "with_rule",
]


@runtime_checkable
class Estimator(Protocol):
    """What is believed about a task before it runs: never how long it will really take."""

    @property
    def num_gpus(self) -> int:
        """How many GPUs the node has."""

    @property
    def gpus_alike(self) -> bool:
        """Whether all GPUs are the same in every respect: the least loaded one is then as good as any."""

    @property
    def learns(self) -> bool:
        """Whether what is believed changes with what is seen: tasks may then take longer or shorter than told."""

    @property
    def power_w(self) -> Sequence[float]:
        """Watts of every device while it is busy, the CPU first."""

    def cpu_s(self, task: Task) -> float:
        """Seconds of the whole task on the CPU."""

    def gpu_s(self, task: Task, gpu: int) -> float:
        """Seconds of the whole task on one GPU, transfer included (fitting in memory or not)."""

    def terms(self, task: Task) -> TaskTerms:
        """The durations of the task on every device and the limits they meet, as one tuple."""

    def batch_terms(self, batch: TaskBatch) -> BatchTerms:
        """The same for many tasks, as columns."""

    def parts(self, task: Task, gpu_fraction: float, gpu: int) -> Parts:
        """The two parts of a split, after the memory rule."""

    def execution_s(self, parts: Parts) -> float:
        """The execution time of the parts as if both devices were free."""

    def energy_j(self, parts: Parts, gpu: int) -> float:
        """Joules that the parts use."""

    def cost_usd(self, parts: Parts, gpu: int) -> float:
        """Dollars that the parts cost."""


@runtime_checkable
class Doubts(Protocol):
    """An estimator that learns, and can be told to believe less of what it learns about devices."""

    def doubt(self, apart: float) -> None:
        """Believe of no two devices that they differ from what was told by more than e to `apart`."""


class ClusterView(Protocol):
    """What an online scheduler can see of its cluster at the moment of a decision."""

    @property
    def now_s(self) -> float:
        """The simulated clock."""

    @property
    def cpu_backlog_s(self) -> float:
        """Seconds until the CPU is free, as estimated."""

    @property
    def gpu_backlogs_s(self) -> Sequence[float]:
        """Seconds until each GPU is free, as estimated."""

    @property
    def least_loaded_gpu(self) -> int:
        """The GPU with the least backlog; the lowest id among equals."""

    @property
    def estimator(self) -> Estimator:
        """What is believed about durations."""

    def completion_s(self, task: Task, gpu_fraction: float, gpu: int | None) -> float:
        """Seconds from now until the split would be finished, given the backlogs; inf if it would fail.

        As in a decision, no GPU (None) stands for the least loaded one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceContext:
    """What a strategy is told once, before its first decision.

    `retrain_interval` is the number of tasks between two trainings, for learners that are not told otherwise.
    """

    estimator: Estimator
    seed: int
    retrain_interval: int = 50

    @property
    def num_gpus(self) -> int:
        """How many GPUs the node has."""
        return self.estimator.num_gpus


@runtime_checkable
class Scheduler(Protocol):
    """A placement strategy."""

    name: str

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Say where this ready task goes, now; one that may say "not yet" is a `core.holding.MayHold`."""


@runtime_checkable
class Prepares(Protocol):
    """A strategy that wants to know the node and its seed."""

    def prepare(self, context: RaceContext) -> None:
        """Start afresh for a race; called once, before the first decision."""


@runtime_checkable
class Learns(Protocol):
    """A strategy that learns from what happened."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """See the outcome of a task at the moment it finishes on the simulated clock."""


@runtime_checkable
class Explains(Protocol):
    """A strategy that can say why."""

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Give the reasons for the decision it would take, as plain values."""


@runtime_checkable
class Remembers(Protocol):
    """A strategy with state that a checkpoint must hold."""

    def capture(self) -> Mapping[str, Any]:
        """Return its whole state, picklable."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state (after `prepare`)."""


class RuleKind(IntEnum):
    """The forms of decision that the compiled kernel knows."""

    PRESCRIBED = 0
    FASTEST_SPLIT = 1
    LEAST_CHARGE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchRule:
    """A strategy for a whole batch, in a form the kernel can run without Python.

    PRESCRIBED: `fractions` and `gpus` (-1 = least backlog) by row, or by order of decision.
    FASTEST_SPLIT: the fraction of `grid` with the least execution time, queues ignored.
    LEAST_CHARGE: the fraction and GPU with the least completion + `price` x device-seconds.
    """

    kind: RuleKind
    grid: tuple[float, ...] = ()
    price: float = 0.0
    fractions: FloatColumn | None = None
    gpus: IntColumn | None = None
    by_decision: bool = False


@runtime_checkable
class HasRule(Protocol):
    """A strategy that has a compiled form."""

    def rule(self, batch: TaskBatch) -> BatchRule:
        """Return the rule that makes the very decisions `decide` would make."""


@runtime_checkable
class Foresees(Protocol):
    """A strategy that can decide a stretch of a stream at once, as long as it is not trained meanwhile."""

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        """Return the rule for the next tasks, and move on as if they had been decided one by one.

        `None`, with nothing moved on, where only `decide` can tell.
        """


def with_rule(scheduler: Scheduler) -> HasRule | None:
    """The strategy as one with a rule for whole batches; `None` where only `decide` can tell."""
    return scheduler if isinstance(scheduler, HasRule) and _speaks_for_decide(scheduler, "rule") else None


def with_foresight(scheduler: Scheduler) -> Foresees | None:
    """The strategy as one that decides a stretch at once; `None` where only `decide` can tell, or outcomes teach."""
    if isinstance(scheduler, Learns) or not isinstance(scheduler, Foresees):
        return None
    return scheduler if _speaks_for_decide(scheduler, "rule_ahead") else None


def _speaks_for_decide(scheduler: Scheduler, form: str) -> bool:
    """Whether no `decide` was written below the class that the form comes from: it would be passed over."""
    return _depth(scheduler, form) <= _depth(scheduler, "decide")


def _depth(scheduler: Scheduler, name: str) -> float:
    """How far up an attribute comes from: 0 is the instance, 1 its class; beyond all classes what is made on demand."""
    owners = (getattr(scheduler, "__dict__", {}), *map(vars, type(scheduler).__mro__))
    return next((float(depth) for depth, owner in enumerate(owners) if name in owner), math.inf)
