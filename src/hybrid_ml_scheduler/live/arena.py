"""The arena: a thread that runs a race at a pace, obeys commands between tasks and feeds the outlets."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

from hybrid_ml_scheduler.core import HmsError, Task
from hybrid_ml_scheduler.core.errors import InternalError, PlanError, StorageError
from hybrid_ml_scheduler.core.text import plain_text
from hybrid_ml_scheduler.live.activations import activation_words, model_key
from hybrid_ml_scheduler.live.frames import RaceState, Status, idle_frame
from hybrid_ml_scheduler.live.framing import Framer
from hybrid_ml_scheduler.live.pace import TURN_S, Pace, Speedometer
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.reasons import ReasonMemory
from hybrid_ml_scheduler.live.recorder import Recorder
from hybrid_ml_scheduler.live.records import Activation, Level, Notice
from hybrid_ml_scheduler.live.sinks import Keeper, StoreState, Viewers
from hybrid_ml_scheduler.live.worker import TrainingWorker
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["Arena", "HaltedError"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

_IDLE_S = 0.5
_STORE_WAIT_S = 0.01
# Commands come before the next tasks where a turn has already taken longer than this, as with a checkpoint.
_PATIENCE_S = 0.003
_CLOSED_WITHIN_S = 10.0
_EXPLAIN_ALL_UP_TO = 50.0
# Above this pace the agent learns after every seventh task: with its late first update that is still one in eight.
_LEARN_ALL_UP_TO = 200.0
_FAST_STRIDE = 7


class HaltedError(HmsError):
    """The race cannot go on; the message is the sentence that says why."""


class Arena:
    """Runs one race at a time. Everything that touches the race runs in its thread; `ask` gets you there."""

    def __init__(self, keeper: Keeper, viewers: Viewers, *, speed: float, frame_every_s: float) -> None:
        self.race: Race | None = None
        self._known_tasks = 0
        self.state: RaceState = "idle"
        self.problem: str | None = None
        self.pace = Pace(speed)
        self.reasons = ReasonMemory()
        self.recorder = Recorder(keeper)
        self._viewers = viewers
        self._frame_every_s = frame_every_s
        self._next_frame_s = 0.0
        self._explain_next = True
        self._store_was_down = False
        self._framer: Framer | None = None
        self._speedometer = Speedometer()
        self._worker = TrainingWorker()
        self._commands: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="arena", daemon=True)
        self._closing = False
        self._is_over = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, within_s: float = _CLOSED_WITHIN_S) -> None:
        """Hand over everything, with a checkpoint, and end the thread; one that is stuck ends with the process."""
        try:
            if self._thread.is_alive():
                self._end(within_s)
        finally:
            self._worker.close()
            self.recorder.close()

    def _end(self, within_s: float) -> None:
        answer = self.ask(self._finish)
        if wait([answer], timeout=within_s).done:
            answer.result()
            self._thread.join()
        else:
            self._closing = True
            _log.error("the engine does not answer; the run continues from its last checkpoint")

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def ask(self, command: Callable[[], T]) -> Future[T]:
        """Have a command carried out in the arena's thread, between two tasks."""
        answer: Future[T] = Future()
        self._commands.put((command, answer))
        if self._is_over:
            self._refuse_commands()
        return answer

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
                self._or_halt(lambda: self._hand_over_all(checkpoint=wanted == "stopped"))

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

    def hand_over(self) -> bool:
        """Hand over what there is (in the arena's thread); say whether there was room for it."""
        return self._hand_over_all(checkpoint=False)

    def _hand_over_all(self, *, checkpoint: bool) -> bool:
        """Hand over between two turns; models that took over are announced first, and their notices go along."""
        if self.race is None:
            return True
        self._announce_new(self.race)
        return self.recorder.hand_over(self.race, time.time(), checkpoint=checkpoint)

    def tell(self, level: Level, message: str, *, key: str, event: str, data: dict[str, Any] | None = None) -> None:
        """Notify people, and keep the notice with the run (in the arena's thread)."""
        said = plain_text(message)
        notice = Notice(key=key, level=level, message=said, at=time.time(), event=event, data=data or {})
        if self.race is not None:
            self.race.rows.notices.append(notice)
        self._viewers.tell(notice)

    def _set_stride(self) -> None:
        if self.race is not None and self.problem is None:  # a broken race takes no more events
            slow = 0.0 < self.pace.speed <= _LEARN_ALL_UP_TO
            self.race.set_stride(1 if slow else _FAST_STRIDE, time.time())

    def _run(self) -> None:
        try:
            while not self._closing:
                self._obey(self._live())
        finally:
            self._refuse_commands()

    def _live(self) -> float:
        try:
            return self._or_halt(self._turn)
        except HmsError:
            return 0.0

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

    def _refuse_commands(self) -> None:
        """Answer commands that nobody will carry out any more, so that nobody waits for them."""
        self._is_over = True
        with suppress(queue.Empty):
            while True:
                _, answer = self._commands.get_nowait()
                if answer.set_running_or_notify_cancel():  # else whoever asked has gone
                    answer.set_exception(InternalError("The arena has ended."))

    def _turn(self) -> float:
        """Do what is due now, one thing at a time, since commands wait meanwhile; return how long nothing will be."""
        now_s, race = time.monotonic(), self.race
        if race is None:
            return _IDLE_S
        self._tend_training(race)
        if now_s >= self._next_frame_s:
            self._next_frame_s = now_s + self._frame_every_s
            self._show(race, now_s)
            return 0.0
        has_room = self._tend_store(race)
        rest_s = self._next_frame_s - now_s
        if self.state != "running":
            return max(0.0, min(_IDLE_S, rest_s))
        if not has_room:
            self.pace.rest()
            return _STORE_WAIT_S
        if time.monotonic() - now_s > _PATIENCE_S:
            return 0.0
        count = self.pace.due(now_s)
        if count:
            taken = self._step(race, count, now_s + TURN_S)
            self.pace.took(count, taken, time.monotonic() - now_s)
        return 0.0 if count else max(0.0, min(self.pace.wait_s(now_s), rest_s))

    def _tend_store(self, race: Race) -> bool:
        try:
            return self.recorder.tend(race, time.time())
        except StorageError:
            if self.problem is None:
                raise
            return False  # people have been told, and the race stands anyway

    def _step(self, race: Race, count: int, until_s: float) -> int:
        """Take the tasks that are due, one at least and then as long as there is time; return how many."""
        explain_all = 0.0 < self.pace.speed <= _EXPLAIN_ALL_UP_TO
        taken = 0
        while taken < count and (taken == 0 or time.monotonic() < until_s):
            if explain_all or self._explain_next:
                self._explain_next = False
                self.reasons.remember(race.step(explain=True).task_id, race.racers)
                taken += 1
            else:
                taken += race.advance(count - taken)
        return taken

    def _tend_training(self, race: Race) -> None:
        """Take over a model that has been trained, and have the next one trained from the newest window.

        A race that stands still keeps its models: asked twice, it must answer the same twice.
        """
        done = self._worker.finished() if self.state == "running" else None
        if done is not None:
            job, result = done
            race.learners.pending = None
            if isinstance(result, BaseException):
                key = f"training-{job.scheduler}-{job.requested_at}"
                self.tell("error", str(result), key=key, event="training_failed")
            else:
                race.activate(job, result, time.time())
        if self.state == "running" and self._worker.may_begin(time.monotonic()):
            job_due = race.learners.request(race.next_task_id)
            if job_due is not None:
                self._worker.begin(job_due)
        self._announce_new(race)

    def _announce_new(self, race: Race) -> None:
        for activation in self.recorder.new_activations(race):
            self._announce(activation)

    def _announce(self, activation: Activation) -> None:
        level, event, message = activation_words(activation)
        facts = asdict(activation)
        facts.pop("digest")
        key = model_key(activation.outcome, activation.scheduler, activation.boundary)
        self.tell(level, message, key=key, event=event, data=facts)

    def _show(self, race: Race, now_s: float) -> None:
        self._speedometer.mark(now_s, race.tasks_processed)
        self._tell_if_store_changed()
        self._explain_next = True
        if self._framer is not None:
            self._viewers.show(self._framer.frame(self.status(), time.time()))

    def _tell_if_store_changed(self) -> None:
        """Tell when the store goes away or comes back; what it refuses does not wait for it and halts the race."""
        if (refusal := self.recorder.refusal) is not None:
            if self.problem is None:
                raise StorageError(refusal)
            return
        is_down = self.recorder.store_state == "down"
        if is_down != self._store_was_down:
            self._store_was_down = is_down
            message = "The store is away; rows wait for it." if is_down else "The store is back and takes the rows."
            level: Level = "warning" if is_down else "success"
            self.tell(level, message, key=f"store-{time.time_ns()}", event="store_down" if is_down else "store_up")

    def _halt(self, sentence: str, cause: Exception | None = None) -> None:
        """Stop because something is wrong that going on would not mend; what comes after that is of no interest."""
        if self.problem is not None:
            return
        _log.error("the race was halted: %s", sentence, exc_info=cause)
        self.state, self.problem = "stopped", sentence
        if self.race is not None:
            self.recorder.abandon(self.race)
        self.tell("error", sentence, key=f"halt-{time.time_ns()}", event="race_halted")

    def _obey(self, wait_s: float) -> None:
        """Carry out the commands that are there, waiting for the first one if there is time."""
        try:
            found = self._commands.get(timeout=wait_s) if wait_s > 0.0 else self._commands.get_nowait()
            while True:
                self._carry_out(*found)
                found = self._commands.get_nowait()
        except queue.Empty:
            return

    def _carry_out(self, command: Callable[[], Any], answer: Future[Any]) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(command())
        except Exception as error:  # noqa: BLE001 - whoever asked gets the error, the arena goes on
            answer.set_exception(error)

    def _finish(self) -> None:
        self._closing = True
        with suppress(HmsError):
            self._or_halt(lambda: self._hand_over_all(checkpoint=True))
            return
        with suppress(StorageError):  # the sentence that says why it was halted is worth another try
            self._hand_over_all(checkpoint=False)

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
        )
