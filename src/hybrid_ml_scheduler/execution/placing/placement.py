"""Where a task goes: the strategy is asked when there is a choice, and told what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hybrid_ml_scheduler.cluster.devices import BacklogView
from hybrid_ml_scheduler.core.decisions import NO_GPU, Decision, Outcome
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.knowledge import EXACT, split_level
from hybrid_ml_scheduler.core.learners import train_if_due
from hybrid_ml_scheduler.core.protocols import Explains, Learns, Prepares, RaceContext, Scheduler
from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.execution.devices import CPU, Place
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.estimator import MeasuredEstimator
from hybrid_ml_scheduler.execution.placing.failing import FailingPlaces
from hybrid_ml_scheduler.execution.placing.load import PlaceLoad, backlogs_s
from hybrid_ml_scheduler.execution.placing.trials import Trial
from hybrid_ml_scheduler.execution.tasks import TaskFunction
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.schedulers.own_code import strategy_errors
from hybrid_ml_scheduler.schedulers.registry import create

__all__ = ["Placement", "Placer", "Snapshot", "strategy_of"]

_ONLY_CPU = frozenset({CPU})


class Placement(NamedTuple):
    """The chosen place, and the share of the task that goes there (the CPU gets the rest)."""

    place: int
    fraction: float = 1.0


class Snapshot(NamedTuple):
    """What was believed when a task was placed."""

    backlogs_s: tuple[float, ...]
    seconds: tuple[float, ...]
    decision: Decision | None
    trial: Trial | None


def strategy_of(strategy: str | type | Scheduler) -> Scheduler:
    """A strategy from its registered name, its class or itself."""
    if isinstance(strategy, str):
        bare, level = split_level(strategy)
        if level not in (None, "learned"):
            raise SchedulerError(
                f"{strategy}: what real tasks take is learned from measurements, so there is no level {level}; "
                f"ask for {bare}."
            )
        made = create(strategy)
    else:
        made = strategy() if isinstance(strategy, type) else strategy
    if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "decide", None)):
        raise SchedulerError(f"{strategy!r} is no strategy: it needs a `name` and a method `decide(task, cluster)`.")
    if getattr(made, "knows", None) == EXACT:
        raise SchedulerError(f"{made.name} must be told exact seconds, and nobody can tell those of real tasks.")
    return made


class Placer:
    """Asks one strategy about one node; not safe for threads, its owner holds a lock."""

    def __init__(
        self, strategy: Scheduler, places: tuple[Place, ...], durations: LearnedDurations, seed: int = 0
    ) -> None:
        self.strategy = strategy
        self.loads = [PlaceLoad(place) for place in places]
        self._places, self._durations = places, durations
        self._estimator = MeasuredEstimator(places, durations)
        self._learner = strategy if isinstance(strategy, Learns) else None
        self.failing = FailingPlaces(places)
        self._devices = frozenset(place.device for place in places)
        if isinstance(strategy, Prepares) and len(places) > 1:
            with strategy_errors(f"The strategy {strategy.name!r} cannot be prepared"):
                strategy.prepare(RaceContext(estimator=self._estimator, seed=seed))

    def places_of(self, work: Work) -> list[int]:
        """The places where a task has an implementation, without those that fail."""
        able = [place.index for place in self._places if place.device in self._implemented(work)]
        return self.failing.usable(work.kind, able) if self.failing else able

    def _implemented(self, work: Work) -> frozenset[str]:
        function = work.function
        if not isinstance(function, TaskFunction):
            return _ONLY_CPU
        return frozenset(function.implementations.keys() & self._devices)

    def _available(self, work: Work) -> frozenset[str]:
        found = self._implemented(work)
        if found is _ONLY_CPU or not self.failing:
            return found
        return frozenset(self._places[place].device for place in self.places_of(work))

    def elsewhere(self, work: Work) -> int | None:
        """Where a task should go that waits at a place which has begun to fail; None if it may stay."""
        if not self.failing or work.is_try or work.affinity is not None or work.fraction < 1.0:
            return None
        usable = self.places_of(work)
        return None if work.place in usable else self._least_loaded(usable)

    def _least_loaded(self, places: Sequence[int]) -> int:
        return min(places, key=lambda place: self.loads[place].promised_s / self.loads[place].place.workers)

    def believed_s(self, work: Work, hopeful: bool = False) -> dict[int, float]:
        """Believed seconds of a task on every place that can run it."""
        available = self._available(work)
        self._estimator.describe(work.kind, available, hopeful)
        seconds = self._estimator.seconds(self._task(work, work.submitted_s))
        return {
            place: seconds.cpu_s if place == 0 else seconds.gpu_s[self._estimator.column(place - 1)]
            for place in self.places_of(work)
        }

    def hoped_s(self, work: Work) -> tuple[dict[int, float], frozenset[int]]:
        """What is believed or hoped of a task on every place that can run it, and the places where it is to be tried.

        These have yet to be measured with this kind, or are believed to be slower and due for another try. A device
        that is believed to be faster needs no try: it gets its tasks in the order of what they gain there.
        """
        seconds = self.believed_s(work, hopeful=True)
        due, durations = self._estimator.trials, self._durations
        return seconds, frozenset(
            place
            for place in seconds
            if (device := self._places[place].device) in due or durations.is_unmeasured(work.kind, device)
        )

    def place(self, work: Work, now_s: float, waiting_s: Sequence[float] | None = None) -> Placement | None:
        """Decide; a task that can run in one place only is not asked about. None is "not yet".

        `waiting_s` is believed work for each place that is not promised to it yet.
        """
        available = self._available(work)
        if CPU in available and len(available) < 2:
            found = self._durations.estimate(work.kind, CPU, work.size)
            work.predicted_s = 0.0 if found is None else found.seconds
            return _CPU_PLACE
        backlogs = backlogs_s(self.loads, now_s)
        if waiting_s is not None:
            backlogs = [own + more for own, more in zip(backlogs, waiting_s, strict=True)]
        return self._asked(work, available, now_s, backlogs)

    def _asked(self, work: Work, available: frozenset[str], now_s: float, backlogs: list[float]) -> Placement | None:
        task = self._task(work, now_s)
        self._estimator.describe(work.kind, available)
        view = BacklogView(self._estimator, now_s, backlogs[0], backlogs[1:])
        with strategy_errors(f"The strategy {self.strategy.name!r} cannot decide about {work.kind}"):
            train_if_due(self.strategy)
            decision: Decision | None = self.strategy.decide(task, view)
        return None if decision is None else self._settled(work, task, decision, available, view)

    def introduce(self, work: Work, now_s: float) -> Task:
        """A task that will be held: the strategy may ask about it from now on."""
        work.task = self._task(work, now_s)
        self._estimator.introduce(work.task, self._available(work))
        return work.task

    def forget(self, task_id: int) -> None:
        """A task is held no longer."""
        self._estimator.forget(task_id)

    def held_view(self, now_s: float, taken: Sequence[int]) -> BacklogView:
        """What a strategy that holds sees; `taken` counts workers of each place that are as good as busy."""
        self._estimator.describe("", _ONLY_CPU)  # nothing that was remembered holds for ever
        backlogs = backlogs_s(self.loads, now_s)
        view = BacklogView(self._estimator, now_s, backlogs[0], backlogs[1:])
        view.idle = [load.unfinished + more < load.place.workers for load, more in zip(self.loads, taken, strict=True)]
        return view

    def commit(self, work: Work, task: Task, decision: Decision, now_s: float) -> Placement:
        """Where a task goes that a strategy held and commits now."""
        available, backlogs = self._available(work), backlogs_s(self.loads, now_s)
        self._estimator.describe(work.kind, available)
        return self._settled(
            work, task, decision, available, BacklogView(self._estimator, now_s, backlogs[0], backlogs[1:])
        )

    def _settled(
        self, work: Work, task: Task, decision: Decision, available: frozenset[str], view: BacklogView
    ) -> Placement:
        """Carry out a decision, and note what was believed."""
        seconds = self._estimator.seconds(task)
        each = (seconds.cpu_s, *(self._estimator.gpu_s(task, gpu) for gpu in range(len(self._places) - 1)))
        trials = dict(self._estimator.trials)
        chosen = self._carried_out(work, task, decision, available, view)
        if self.failing and chosen.place not in (usable := self.places_of(work)):
            chosen = Placement(self._least_loaded(usable))
        device = self._places[chosen.place].device
        trial = trials.get(device)
        work.task, work.snapshot = task, Snapshot((view.cpu_backlog_s, *view.gpu_backlogs_s), each, decision, trial)
        work.predicted_s = each[chosen.place] if trial is None else trial.believed_s
        self._durations.trials.placed(work.kind, device, trial)
        return chosen

    def _carried_out(
        self, work: Work, task: Task, decision: Decision, available: frozenset[str], view: BacklogView
    ) -> Placement:
        """What a decision comes to: whole devices for tasks that cannot be split, the CPU where nothing else can."""
        share = min(max(decision.gpu_fraction, 0.0), 1.0)
        gpu = view.least_loaded_gpu if decision.gpu is None else decision.gpu
        place = self._places[gpu + 1]
        if share <= 0.0 or place.device not in available or work.nbytes / 1e6 > place.memory_mb:
            return _CPU_PLACE
        if share >= 1.0 or work.function.divider is None:
            if share < 1.0 and view.completion_s(task, 0.0, 0) < view.completion_s(task, 1.0, gpu):
                return _CPU_PLACE
            return Placement(place.index)
        return Placement(place.index, share)

    def _task(self, work: Work, now_s: float) -> Task:
        return Task(
            task_id=work.task_id,
            size=work.size,
            compute_intensity=work.options.intensity,
            memory_required=work.nbytes / 1e6,
            arrival_time=now_s,
            kind=work.kind,
            divisible=getattr(work.function, "divider", None) is not None,
        )

    def learn(self, work: Work, seconds: float, finished_s: float, cold: bool) -> bool:
        """A task ended well after this many seconds; says whether the time was used."""
        device = self._places[work.place].device
        used = self._durations.observe(work.kind, device, work.size, seconds, cold)
        if work.snapshot is None:
            return used  # nobody was asked, and nobody needs to know
        if work.fraction >= 1.0:
            self._durations.trials.measured(work.kind, device, seconds)
        if self._learner is not None and work.task is not None and work.fraction >= 1.0:
            with strategy_errors(f"The strategy {self.strategy.name!r} cannot learn about {work.kind}"):
                self._learner.observe(work.task, _outcome(work, seconds, finished_s))
        return used

    def explain(self, work: Work) -> Mapping[str, Any]:
        """The strategy's own reasons for a task as it was seen when it was placed, by what it believes now."""
        snapshot: Snapshot | None = work.snapshot
        if snapshot is None or work.task is None or not isinstance(self.strategy, Explains):
            return {}
        self._estimator.describe(work.kind, self._available(work))
        view = BacklogView(self._estimator, work.submitted_s, snapshot.backlogs_s[0], list(snapshot.backlogs_s[1:]))
        with strategy_errors(f"The strategy {self.strategy.name!r} cannot explain {work.kind}"):
            return dict(self.strategy.explain(work.task, view))


_CPU_PLACE = Placement(0)


def _outcome(work: Work, seconds: float, finished_s: float) -> Outcome:
    """A measured task in the terms of the model; joules and dollars are unknown here."""
    on_cpu = work.place == 0
    start = finished_s - seconds
    return Outcome(
        task_id=work.task_id,
        gpu_fraction=0.0 if on_cpu else 1.0,
        gpu=NO_GPU if on_cpu else work.place - 1,
        arrival_s=work.submitted_s,
        ready_s=work.submitted_s,
        cpu_start_s=start if on_cpu else float("nan"),
        gpu_start_s=float("nan") if on_cpu else start,
        finish_s=finished_s,
        execution_s=seconds,
        cpu_s=seconds if on_cpu else 0.0,
        gpu_s=0.0 if on_cpu else seconds,
        energy_j=0.0,
        cost_usd=0.0,
    )
