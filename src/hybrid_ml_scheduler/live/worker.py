"""Training in the background: one thread, one job at a time."""

from __future__ import annotations

import queue
import threading

from hybrid_ml_scheduler.live.learners import TrainedModel, TrainingJob

__all__ = ["TrainingWorker"]


class TrainingWorker:
    """Runs training jobs beside the race; the race asks now and then whether one is done."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[TrainingJob | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[TrainingJob, TrainedModel | Exception]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.busy = False

    def begin(self, job: TrainingJob) -> None:
        """Start a job; only while not busy."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="training", daemon=True)
            self._thread.start()
        self.busy = True
        self._jobs.put(job)

    def finished(self) -> tuple[TrainingJob, TrainedModel | Exception] | None:
        """Return a finished job with its model (or what went wrong), if there is one."""
        try:
            found = self._done.get_nowait()
        except queue.Empty:
            return None
        self.busy = False
        return found

    def forget(self) -> None:
        """Drop the running job: its race is over. Waits for it, because it cannot be cut short."""
        if self.busy:
            self._done.get()
            self.busy = False

    def close(self) -> None:
        """End the thread after the job it has."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put((job, _outcome(job)))


def _outcome(job: TrainingJob) -> TrainedModel | Exception:
    try:
        return job.run()
    except Exception as error:  # noqa: BLE001 - handed to the race, which tells people and goes on
        return error
