"""The arena: a thread that runs a race at a pace, obeys commands between tasks and feeds the outlets."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import wait
from contextlib import suppress

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.commands import CommandLoop
from hybrid_ml_scheduler.live.lockstep import LEAST_STRETCH
from hybrid_ml_scheduler.live.pace import TURN_S
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import NoticeLevel
from hybrid_ml_scheduler.live.run_state import HaltedError, RunState
from hybrid_ml_scheduler.live.sinks import Keeper, Viewers

__all__ = ["Arena", "HaltedError"]

_log = logging.getLogger(__name__)

_IDLE_S = 0.5
_STORE_WAIT_S = 0.01
# Commands come before the next tasks where a turn has already taken longer than this, as with a checkpoint.
_PATIENCE_S = 0.003
_CLOSED_WITHIN_S = 10.0
_EXPLAIN_ALL_UP_TO = 50.0


class Arena(RunState, CommandLoop):
    """Runs one race at a time. Everything that touches the race runs in its thread; `ask` gets you there."""

    def __init__(self, keeper: Keeper, viewers: Viewers, *, speed: float, frame_every_s: float) -> None:
        RunState.__init__(self, keeper, viewers, speed)
        CommandLoop.__init__(self)
        self._frame_every_s = frame_every_s
        self._explain_next = True
        self._store_was_down = False
        self._thread = threading.Thread(target=self._run, name="arena", daemon=True)
        self._closing = False

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
        if race.is_complete:
            self.complete(race)
            return 0.0
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
        while taken < count and not race.is_complete and (taken == 0 or time.monotonic() < until_s):
            if explain_all or self._explain_next:
                self._explain_next = False
                self.reasons.remember(race.step(explain=True).task_id, race.racers)
                taken += 1
            else:
                together = race.advance(count - taken)
                taken += together
                if self.pace.speed == 0.0 and together >= LEAST_STRETCH > count - taken:
                    break  # so few would go one by one, at a multiple of the time: better with those of the next turn
        return taken

    def _tend_training(self, race: Race) -> None:
        """Take over a model that has been trained, and have the next one trained from the newest window.

        A race that stands still keeps its models: asked twice, it must answer the same twice.
        """
        done = self._worker.take_finished() if self.state == "running" else None
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
            level: NoticeLevel = "warning" if is_down else "success"
            self.tell(level, message, key=f"store-{time.time_ns()}", event="store_down" if is_down else "store_up")

    def _finish(self) -> None:
        self._closing = True
        with suppress(HmsError):
            self._or_halt(lambda: self._hand_over_all(checkpoint=True))
            return
        with suppress(StorageError):  # the sentence that says why it was halted is worth another try
            self._hand_over_all(checkpoint=False)
