"""The run that the arena has taken up: its state, what may be asked of it, and what people are told."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

from hybrid_ml_scheduler.core import HmsError, Task
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.core.text import amount, plain_text
from hybrid_ml_scheduler.live.frames import RaceState, Status, TraceFacts, idle_frame
from hybrid_ml_scheduler.live.framing import Framer
from hybrid_ml_scheduler.live.pace import Pace, Speedometer
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.reasons import ReasonMemory
from hybrid_ml_scheduler.live.recorder import Recorder
from hybrid_ml_scheduler.live.records import Activation, Notice, NoticeLevel, activation_words, model_key
from hybrid_ml_scheduler.live.sinks import Keeper, StoreState, Viewers
from hybrid_ml_scheduler.live.worker import TrainingWorker
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["HaltedError", "RunState"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

# Above this pace the agent learns after every seventh task: with its late first update that is still one in eight.
_LEARN_ALL_UP_TO = 200.0
_FAST_STRIDE = 7


class HaltedError(HmsError):
    """The race cannot go on; the message is the sentence that says why."""


class RunState:
    """One race at a time, and all that belongs to it; everything but `status` is for the arena's thread."""

    def __init__(self, keeper: Keeper, viewers: Viewers, speed: float) -> None:
        self.race: Race | None = None
        self._known_tasks = 0
        self.state: RaceState = "idle"
        self.problem: str | None = None
        self.pace = Pace(speed)
        self.reasons = ReasonMemory()
        self.recorder = Recorder(keeper)
        self._viewers = viewers
        self._next_frame_s = 0.0
        self._framer: Framer | None = None
        self._speedometer = Speedometer()
        self._worker = TrainingWorker()

    def enter(self, race: Race, state: RaceState) -> None:
        """Take up a race (in the arena's thread)."""
        self._worker.forget()
        self.race, self.state, self.problem = race, state, None
        self._framer = Framer(race)
        self.reasons.clear()
        self.recorder.open(race)
        self._speedometer.reset()
        self.pace.rest()
        if race.learners.pending is not None:
            self._worker.begin(race.learners.pending)
        self._set_stride()

    def stand(self, problem: str, next_task_id: int) -> None:
        """Stay without a race because the stored one cannot be continued (in the arena's thread)."""
        self.state, self.problem, self._known_tasks = "stopped", problem, next_task_id
        self.tell("error", problem, key=f"stand-{time.time_ns()}", event="race_halted")
        self._viewers.show(replace(idle_frame(time.time()), status=self.status()))

    def refuse_if_halted(self) -> None:
        """Refuse what a race that broke, or cannot be continued, must not be asked for (in the arena's thread)."""
        if self.problem is not None:
            raise HaltedError(self.problem)

    def change_state(self, wanted: RaceState) -> None:
        """Go to a state (in the arena's thread); stopping hands over everything with a checkpoint."""
        if wanted == "running":
            self.refuse_if_halted()
        if self.race is None or wanted == self.state:
            return
        self.state = wanted
        self.pace.rest()
        self._speedometer.reset()
        self._next_frame_s = 0.0
        if wanted != "running":
            with suppress(HmsError):  # it stands, as was wanted, and the status says that it will not go on, and why
                self._or_halt(lambda: self._hand_over_all(checkpoint=wanted != "paused"))

    def complete(self, race: Race) -> None:
        """End the run of a trace whose last task has been placed (in the arena's thread)."""
        if race.course.trace is not None:
            tasks = amount(len(race.course.trace.batch), "task")
            message = f"The run is complete: all {tasks} of {race.preset} have been placed, and no other will come."
            self.tell("success", message, key="complete", event="run_complete")
        self.change_state("complete")

    def set_speed(self, speed: float) -> None:
        """Change the pace (in the arena's thread)."""
        self.pace.change(speed)
        self._speedometer.reset()
        self._set_stride()

    def shift(self, preset: str, laws: WorkloadParameters, drift: Drift | None = None) -> None:
        """Let the stream follow other laws, or the truth drift, from the next task on (in the arena's thread)."""
        self.refuse_if_halted()
        if (race := self.race) is not None:
            mark = race.shift(preset, laws, time.time()) if drift is None else race.drift(drift, time.time())
            key = f"shift-{race.next_sequence}"
            self.tell("info", mark.message, key=key, event="workload_shifted", data=asdict(mark))

    def call_back(self, scheduler: str) -> tuple[int, Activation]:
        """Let a strategy's earlier model decide again (in the arena's thread); returns the run and what was done."""
        self.refuse_if_halted()
        if self.race is None:
            raise PlanError("There is no run yet whose model could be called back; start one first.")
        done = self.race.call_back(scheduler, time.time())
        self._announce_new(self.race)
        return self.race.run_id, done

    def admit(self, task: Task, at: float) -> Task | None:
        """Let a task from outside into the race (in the arena's thread)."""
        self.refuse_if_halted()
        race = self.race
        if race is None:
            return None
        checked = race.foreign(task)  # one that cannot enter is refused, and the race goes on
        entered = self._or_halt(lambda: race.admit(checked, at))
        self.reasons.remember(entered.task_id, race.racers)
        return entered

    def hand_over(self, *, checkpoint: bool = False) -> bool:
        """Hand over what there is (in the arena's thread); say whether there was room for it."""
        return self._hand_over_all(checkpoint=checkpoint)

    def _hand_over_all(self, *, checkpoint: bool) -> bool:
        """Hand over between two turns; models that took over are announced first, and their notices go along."""
        if self.race is None:
            return True
        self._announce_new(self.race)
        return self.recorder.hand_over(self.race, time.time(), checkpoint=checkpoint)

    def tell(
        self, level: NoticeLevel, message: str, *, key: str, event: str, data: dict[str, Any] | None = None
    ) -> None:
        """Notify people, and keep the notice with the run (in the arena's thread)."""
        said = plain_text(message)
        notice = Notice(key=key, level=level, message=said, at=time.time(), event=event, data=data or {})
        if self.race is not None:
            self.race.rows.notices.append(notice)
        self._viewers.tell(notice)

    def _announce_new(self, race: Race) -> None:
        for activation in self.recorder.new_activations(race):
            self._announce(activation)

    def _announce(self, activation: Activation) -> None:
        level, event, message = activation_words(activation)
        facts = asdict(activation)
        facts.pop("digest")
        key = model_key(activation.outcome, activation.scheduler, activation.boundary)
        self.tell(level, message, key=key, event=event, data=facts)

    def _set_stride(self) -> None:
        if self.race is not None and self.problem is None:  # a broken race takes no more events
            slow = 0.0 < self.pace.speed <= _LEARN_ALL_UP_TO
            self.race.set_stride(1 if slow else _FAST_STRIDE, time.time())

    def _or_halt(self, action: Callable[[], T]) -> T:
        """Do something with the race; whatever goes wrong halts it, and becomes an error with a sentence."""
        try:
            return action()
        except HmsError as error:
            self._halt(str(error))
            raise
        except Exception as error:
            # A strategy's own code may raise anything, also while its state is captured; the thread must outlive it.
            broken = HaltedError(f"The race was halted by {type(error).__name__}: {error}.")
            self._halt(str(broken), error)
            raise broken from error

    def _halt(self, sentence: str, cause: Exception | None = None) -> None:
        """Stop because something is wrong that going on would not mend; what comes after that is of no interest."""
        if self.problem is not None:
            return
        _log.error("the race was halted: %s", sentence, exc_info=cause)
        self.state, self.problem = "stopped", sentence
        if self.race is not None:
            self.recorder.abandon(self.race)
        self.tell("error", sentence, key=f"halt-{time.time_ns()}", event="race_halted")

    def status(self) -> Status:
        """Say where the race stands; may be called from any thread."""
        race = self.race
        storage: StoreState = self.recorder.store_state
        course = None if race is None else race.course
        return Status(
            state=self.state,
            run_id=None if race is None else race.run_id,
            seed=None if course is None else course.seed,
            tasks_processed=0 if race is None else race.tasks_processed,
            next_task_id=self._known_tasks if race is None else race.next_task_id,
            simulated_time_s=0.0 if race is None else race.now_s,
            speed=self.pace.speed,
            achieved_speed=self._speedometer.speed if self.state == "running" else 0.0,
            preset="" if race is None else race.preset,
            arrival_rate=0.0 if race is None else race.workload.arrival_rate,
            schedulers=() if race is None else tuple(racer.name for racer in race.racers),
            num_gpus=0 if course is None else course.node.num_gpus,
            retrain_interval=0 if course is None else course.retrain_interval,
            retraining="background" if course is None else course.retraining,
            storage=storage,
            backlog_rows=self.recorder.backlog + (0 if race is None or self.state == "running" else len(race.rows)),
            learning={} if race is None else race.learners.states(race.tasks_processed),
            problem=self.problem,
            knowledge=EXACT if course is None else course.knowledge,
            trace=None
            if course is None or course.trace is None
            else TraceFacts(upload=course.trace.upload, tasks=len(course.trace.batch)),
            branch=None if race is None else race.branch,
        )
