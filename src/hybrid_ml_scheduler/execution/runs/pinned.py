"""Strategies for measuring: everything to one place, or every kind to its own."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid_ml_scheduler.core.decisions import CPU_ONLY, Decision, Outcome
from hybrid_ml_scheduler.core.protocols import ClusterView, Learns, Prepares, RaceContext, Scheduler
from hybrid_ml_scheduler.core.tasks import Task

__all__ = ["FixedByKind", "Pinned", "Switching"]


class Pinned:
    """Everything to one place, given as its number (0 is the CPU).

    The place changes from task to task, so each is decided when it is submitted: later it would be another's.
    """

    name = "pinned"
    decides_at_once = True

    def __init__(self, place: int) -> None:
        self.place = place

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """The same place for everybody."""
        return CPU_ONLY if self.place == 0 else Decision(gpu_fraction=1.0, gpu=self.place - 1)


class FixedByKind:
    """A fixed choice for every kind: the CPU, or the least loaded further device."""

    name = "fixed_by_kind"

    def __init__(self, on_device: Mapping[str, bool]) -> None:
        self.on_device = dict(on_device)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """What was fixed for the task's kind."""
        if not self.on_device.get(task.kind, False):
            return CPU_ONLY
        return Decision(gpu_fraction=1.0, gpu=cluster.least_loaded_gpu)


class Switching:
    """A strategy that can be exchanged between runs, so that the workers of one executor serve them all."""

    def __init__(self, strategy: Scheduler) -> None:
        self._context: RaceContext | None = None
        self.name = ""
        self.use(strategy)

    def use(self, strategy: Scheduler) -> None:
        """Decide with this strategy from now on."""
        self._strategy, self.name = strategy, strategy.name
        if self._context is not None and isinstance(strategy, Prepares):
            strategy.prepare(self._context)

    @property
    def decides_at_once(self) -> bool:
        """As the strategy in force."""
        return getattr(self._strategy, "decides_at_once", False)

    def prepare(self, context: RaceContext) -> None:
        """Remember the node for every strategy to come."""
        self._context = context
        self.use(self._strategy)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Ask the strategy in force."""
        return self._strategy.decide(task, cluster)

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Tell the strategy in force, if it learns."""
        if isinstance(self._strategy, Learns):
            self._strategy.observe(task, outcome)
