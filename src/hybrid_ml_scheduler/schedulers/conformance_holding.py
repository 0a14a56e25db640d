"""The conformance check of strategies that hold: `dispatch` commits what it holds, validly, repeatably, and in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, cast

from hybrid_ml_scheduler.core import ClusterView, Decision, Estimator, Prepares, RaceContext, Scheduler, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView, Holds
from hybrid_ml_scheduler.schedulers.own_code import strategy_errors_at

__all__ = ["AsksAgain", "check_dispatch"]

Committed = list[tuple[float, int, float, int | None]]


@dataclass
class _Held:
    """What a strategy is shown of its queue."""

    tasks: dict[int, Task] = field(default_factory=dict)
    fresh: Sequence[Task] = ()
    arrived: Sequence[Task] = ()

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks.values())

    def __contains__(self, task_id: object) -> bool:
        return task_id in self.tasks


class _Node:
    """Devices that are busy until some moment, as a holding strategy sees them."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        self.now_s = 0.0
        self.free_s = [0.0] * (estimator.num_gpus + 1)

    @property
    def idle(self) -> list[bool]:
        return [free <= self.now_s for free in self.free_s]

    @property
    def cpu_backlog_s(self) -> float:
        return max(self.free_s[0] - self.now_s, 0.0)

    @property
    def gpu_backlogs_s(self) -> list[float]:
        return [max(free - self.now_s, 0.0) for free in self.free_s[1:]]

    @property
    def least_loaded_gpu(self) -> int:
        backlogs = self.gpu_backlogs_s
        return backlogs.index(min(backlogs))

    def completion_s(self, task: Task, gpu_fraction: float, gpu: int | None) -> float:
        gpu = self.least_loaded_gpu if gpu is None else gpu
        parts = self.estimator.parts(task, gpu_fraction, gpu)
        cpu = self.cpu_backlog_s + parts.cpu_s if parts.cpu_s > 0.0 else 0.0
        return max(cpu, self.gpu_backlogs_s[gpu] + parts.gpu_s if parts.gpu_s > 0.0 else 0.0)

    def place(self, task: Task, decision: Decision) -> None:
        """Keep the devices of a committed task busy."""
        gpu = self.least_loaded_gpu if decision.gpu is None else decision.gpu
        parts = self.estimator.parts(task, decision.gpu_fraction, gpu)
        for device, seconds in ((0, parts.cpu_s), (gpu + 1, parts.gpu_s)):
            if seconds > 0.0:
                self.free_s[device] = max(self.free_s[device], self.now_s) + seconds


class AsksAgain:
    """A strategy whose `decide` may say "not yet": it is asked about every held task at every wake."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.name, self._scheduler = scheduler.name, scheduler

    def prepare(self, context: RaceContext) -> None:
        """Pass it on."""
        if isinstance(self._scheduler, Prepares):
            self._scheduler.prepare(context)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Pass it on."""
        return self._scheduler.decide(task, cluster)

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """Commit what the strategy decides now."""
        for task in list(held):
            decision: Decision | None = self._scheduler.decide(task, cluster)
            if decision is not None:
                yield Commitment(task.task_id, decision)


def check_dispatch(make: Callable[[], Scheduler], tasks: Sequence[Task], estimator: Estimator) -> None:
    """Refuse with one sentence a `dispatch` that breaks the contract on this little stream."""
    first, again = _run(make(), tasks, estimator), _run(make(), tasks, estimator)
    if first != again:
        raise SchedulerError(f"{make().name}: two runs with the same seed dispatch differently.")


def _run(scheduler: Scheduler, tasks: Sequence[Task], estimator: Estimator) -> Committed:
    if isinstance(scheduler, Prepares):
        with strategy_errors_at(scheduler.name, "prepared"):
            scheduler.prepare(RaceContext(estimator=estimator, seed=0))
    node, held, done = _Node(estimator), _Held(), Committed()
    for task in tasks:
        while held and (moments := [free for free in node.free_s if node.now_s < free < task.arrival_time]):
            node.now_s = min(moments)
            done += _woken(scheduler, held, node)
        node.now_s = task.arrival_time
        held.tasks[task.task_id] = task
        held.fresh = held.arrived = [task]
        done += _woken(scheduler, held, node)
    while held:
        moments = [free for free in node.free_s if free > node.now_s]
        if not moments and isinstance(scheduler, AsksAgain):
            raise SchedulerError(
                f"{scheduler.name}: decide must return a Decision, not NoneType, about some task if all devices idle."
            )
        if not moments:
            raise SchedulerError(f"{scheduler.name}: {len(held)} tasks are held while every device is idle.")
        node.now_s = min(moments)
        done += _woken(scheduler, held, node)
    return done


def _woken(scheduler: Scheduler, held: _Held, node: _Node) -> Committed:
    done: Committed = []
    with strategy_errors_at(scheduler.name, "woken"):
        for given in cast(Holds, scheduler).dispatch(held, cast(Any, node)):
            task_id, decision = _checked(scheduler.name, given, held, node.estimator.num_gpus)
            node.place(held.tasks.pop(task_id), decision)
            done.append((node.now_s, task_id, float(decision.gpu_fraction), decision.gpu))
    held.fresh = held.arrived = ()
    return done


def _checked(name: str, given: object, held: _Held, num_gpus: int) -> tuple[int, Decision]:
    if not isinstance(given, Commitment) or not isinstance(given.decision, Decision):
        raise SchedulerError(f"{name}: dispatch must give Commitment(task_id, decision), not {given!r}.")
    task_id, decision = given
    if task_id not in held:
        raise SchedulerError(f"{name}: dispatch committed task {task_id}, which it does not hold.")
    if not (isinstance(decision.gpu_fraction, Real) and 0.0 <= decision.gpu_fraction <= 1.0):
        raise SchedulerError(f"{name}: gpu_fraction = {decision.gpu_fraction} is outside [0, 1].")
    if decision.gpu is not None and not (isinstance(decision.gpu, Integral) and 0 <= decision.gpu < num_gpus):
        raise SchedulerError(f"{name}: GPU {decision.gpu} does not exist on a node of {num_gpus}.")
    return task_id, decision
