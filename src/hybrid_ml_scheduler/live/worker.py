"""Training in the background: one thread, one job at a time."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from hybrid_ml_scheduler.live.learners import TrainedModel, TrainingJob

__all__ = ["TrainingWorker"]

_REST = 3.0
_NICENESS = 10


def _stand_back() -> None:
    """Let the race and its viewers have the processors first (Linux: threads have a niceness of their own)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class TrainingWorker:
    """Runs training jobs beside the race; the race asks now and then whether one is done."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="training", initializer=_stand_back)
        self._job: TrainingJob | None = None
        self._future: Future[TrainedModel] | None = None
        self._rested_s = 0.0

    @property
    def busy(self) -> bool:
        """Whether a job has been begun and not been collected."""
        return self._future is not None

    def may_begin(self, now_s: float) -> bool:
        """Whether there is time for a job: training takes a quarter of the time at most, the race has the rest."""
        return self._future is None and now_s >= self._rested_s

    def begin(self, job: TrainingJob) -> None:
        """Start a job; only while not busy."""
        self._job, self._future = job, self._thread.submit(job.run)

    def finished(self) -> tuple[TrainingJob, TrainedModel | BaseException] | None:
        """Return a finished job with its model (or what went wrong), if there is one."""
        if self._job is None or self._future is None or not self._future.done():
            return None
        job, future = self._job, self._future
        self._job = self._future = None
        problem = future.exception()
        if problem is not None:
            return job, problem
        trained = future.result()
        self._rested_s = time.monotonic() + _REST * trained.duration_s
        return job, trained

    def forget(self) -> None:
        """Drop the running job: its race is over."""
        self._job = self._future = None

    def close(self) -> None:
        """End the thread after the job it has."""
        self._thread.shutdown(wait=True)
