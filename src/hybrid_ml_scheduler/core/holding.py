"""The contract of strategies that hold: ready tasks stay in the strategy's queue until it commits them.

The simple way: `decide` returns `None` for "not yet", and the strategy is asked again at the next wake, for every held
task in the order in which they became ready. A wake is an instant at which a task becomes ready, or a device comes free
while tasks are held; it comes after everything that finishes or becomes ready at that instant.

The full way: `dispatch` sees all held tasks at every wake and names those that are committed now, and where; what it
does not name stays held. `decide` then says where a task would go if it had to be committed at once: it is asked for
previews, and for the oldest task where a plan bounds how many may be open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol, runtime_checkable

from hybrid_ml_scheduler.core.decisions import Decision
from hybrid_ml_scheduler.core.protocols import ClusterView
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task, TaskBatch

__all__ = [
    "MEAN_OVER",
    "BatchSeconds",
    "Commitment",
    "HasHeldRule",
    "HeldRule",
    "HeldStage",
    "HeldTasks",
    "HeldView",
    "HoldingRule",
    "Holds",
    "MayHold",
    "Pick",
    "PlanRule",
    "PullRule",
    "soonest_device",
]

# The mean that limits are multiples of forgets: a task counts for about this many tasks after it.
MEAN_OVER = 1000


class Commitment(NamedTuple):
    """One held task that is committed now."""

    task_id: int
    decision: Decision


class HeldTasks(Protocol):
    """The tasks that a strategy holds, in the order in which they became ready."""

    @property
    def fresh(self) -> Sequence[Task]:
        """Those that became ready since the strategy was last woken."""

    @property
    def arrived(self) -> Sequence[Task]:
        """All tasks that arrived since then, ready or waiting for parents: the newest part of the graph."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Task]: ...

    def __contains__(self, task_id: object) -> bool: ...


class HeldView(ClusterView, Protocol):
    """What a holding strategy sees: also which devices stand idle, the CPU first."""

    @property
    def idle(self) -> Sequence[bool]:
        """Whether each device has nothing to do, the CPU first."""


@runtime_checkable
class Holds(Protocol):
    """A strategy that may keep ready tasks back and reorder them."""

    name: str

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterable[Commitment]:
        """Name the held tasks that are committed now, in order; what is not named stays held.

        Each is placed as it is named, so that a generator sees the cluster with it placed.
        """


@runtime_checkable
class MayHold(Protocol):
    """A strategy whose `decide` may answer "not yet": the task is held, and asked about again at the next wake."""

    name: str

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        """Say where this ready task goes; `None` is "not yet"."""


def soonest_device(task: Task, cluster: ClusterView) -> Decision:
    """The whole device that ends first behind its queue: where a task goes that may be held no longer."""
    options = [(cluster.completion_s(task, 0.0, 0), Decision(gpu_fraction=0.0))]
    gpus = range(len(cluster.gpu_backlogs_s))
    options += [(cluster.completion_s(task, 1.0, gpu), Decision(gpu_fraction=1.0, gpu=gpu)) for gpu in gpus]
    return min(options, key=lambda option: option[0])[1]


class BatchSeconds(Protocol):
    """Seconds of every task of a batch: on the CPU, and on every kind of GPU (one column each)."""

    @property
    def cpu_s(self) -> FloatColumn:
        """On the CPU."""

    @property
    def gpu_s(self) -> FloatColumn:
        """On each kind of GPU."""

    @property
    def gpu_kind(self) -> IntColumn:
        """The kind of each GPU: its column in `gpu_s`."""


class Pick(IntEnum):
    """Which of the looked-at tasks plans next: the first in order, or one by what all of them would plan now."""

    IN_ORDER = 0
    LEAST_COMPLETION = 1
    MOST_COMPLETION = 2
    MOST_SUFFERAGE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStage:
    """How tasks are planned from the wake on at which `first` tasks have become ready.

    They go by the rule's `order`, or by that of its `orders` that `order` counts from 1 on. With `slowest` above 0 they
    do not plan: idle devices take whole tasks, the GPUs by number, then the CPU, each the one that it wants most
    (`physics.held_choices.pull_key`, which also takes `affinity` and `patience`). `pick` is that of `HeldRule`.
    """

    first: int
    grid: tuple[float, ...]
    price: float
    longest: tuple[float, ...]
    order: int = 0
    slowest: float = 0.0
    affinity: float = 0.0
    patience: float = 0.0
    pick: Pick = Pick.IN_ORDER


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldRule:
    """A holding strategy for a whole batch, in a form the kernel can run without Python.

    At every wake the held tasks are gone through by rising `order` (then id), at most `depth` of them. Each plans the
    split of `grid` and the GPU with the least completion + `price` x device-seconds, behind the plans before it, and is
    committed if one of its parts starts at once. A device takes no part longer than `longest` (CPU first) times the
    running mean of `size_s`, the tasks' seconds at their fastest; a task that no device would take may go anywhere.
    `pick` says that the next one to plan is not the first in order but that whose best device ends soonest or latest,
    or that loses most if it gets its second best one. `stages` change that on the way; `orders` are for stages that ask
    for them. With `aging`, a task that has been held for so many times the running means of `size_s` and of waiting
    goes before all others.
    """

    order: FloatColumn
    size_s: FloatColumn
    grid: tuple[float, ...]
    price: float = 0.0
    longest: tuple[float, ...] = ()
    depth: int = 64
    pick: Pick = Pick.IN_ORDER
    aging: float = math.inf
    stages: tuple[HeldStage, ...] = ()
    orders: tuple[FloatColumn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PullRule:
    """A rule by which an idle device takes the held task that it likes best, whole.

    `orders` has one row a device (the CPU first) and one column a task: lower comes first (then the lower id), infinite
    is never. At every wake the GPUs choose by rising number, then the CPU.
    """

    orders: FloatColumn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanRule:
    """A plan for a whole batch that is known at once: where every task goes, and in which order devices take them.

    A task is committed when it is ready and every task with an earlier `turn` on its devices is committed. Parents have
    earlier turns than their children.
    """

    fractions: FloatColumn
    gpus: IntColumn
    turns: IntColumn


HoldingRule = HeldRule | PullRule | PlanRule
"""The forms of holding that the compiled code knows."""


@runtime_checkable
class HasHeldRule(Protocol):
    """A holding strategy that has a compiled form."""

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> HoldingRule | None:
        """Return the rule that commits the very tasks `dispatch` would commit, at the same moments.

        `None` where only `dispatch` can tell.
        """
