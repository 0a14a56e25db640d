"""Training in the background: one thread, one job at a time."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from concurrent.futures import Future

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.core.errors import InternalError
from hybrid_ml_scheduler.live.learners import TrainedModel, TrainingJob

__all__ = ["TrainingWorker"]

_log = logging.getLogger(__name__)

_REST = 3.0
# One that fails may fail at once, and would again: people need not read of it a hundred times a second.
_REST_AFTER_FAILURE_S = 5.0
_NICENESS = 10
# What it would give is dropped anyway, and rows still wait to be stored.
_CLOSED_WITHIN_S = 2.0


def _stand_back() -> None:
    """Let the race and its viewers have the processors first (Linux: threads have a niceness of their own)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class TrainingWorker:
    """Runs training jobs beside the race; the race asks now and then whether one is done.

    Nobody waits for ever for a job, at the end of the process neither: a strategy may be stuck in its own training.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._job: TrainingJob | None = None
        self._future: Future[TrainedModel] | None = None
        self._rested_s = 0.0

    def may_begin(self, now_s: float) -> bool:
        """Whether there is time for a job: training takes a quarter of the time at most, the race has the rest."""
        return self._future is None and now_s >= self._rested_s

    def begin(self, job: TrainingJob) -> None:
        """Start a job; only while there is none."""
        self._job, self._future = job, Future()
        self._thread = threading.Thread(target=_train, args=(job, self._future), name="training", daemon=True)
        self._thread.start()

    def take_finished(self) -> tuple[TrainingJob, TrainedModel | BaseException] | None:
        """Return a finished job with its model (or what went wrong), if there is one."""
        if self._job is None or self._future is None or not self._future.done():
            return None
        job, future = self._job, self._future
        self._job = self._future = None
        problem = future.exception()
        if problem is not None:
            self._rested_s = time.monotonic() + _REST_AFTER_FAILURE_S
            return job, problem
        trained = future.result()
        self._rested_s = time.monotonic() + _REST * trained.duration_s
        return job, trained

    def forget(self) -> None:
        """Drop the running job: its race is over."""
        self._job = self._future = None

    def close(self, within_s: float = _CLOSED_WITHIN_S) -> None:
        """Wait for the job that is there; one that takes longer ends with the process."""
        if self._thread is not None:
            self._thread.join(within_s)
            if self._thread.is_alive():
                _log.warning("a training does not end; it is given up with the process")


def _train(job: TrainingJob, future: Future[TrainedModel]) -> None:
    _stand_back()
    try:
        future.set_result(job.run())
    except HmsError as error:
        future.set_exception(error)
    finally:
        if not future.done():
            future.set_exception(InternalError(f"The training of {job.scheduler} ended without a model."))
