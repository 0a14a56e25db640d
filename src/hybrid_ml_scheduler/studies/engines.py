"""Where jobs run: processes of this machine, or a Ray cluster. The results are the same, only sooner.

A job that fails, or takes its process with it, becomes a `Failure`; the others go on.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, Protocol, TypeVar

from hybrid_ml_scheduler.core.errors import HmsError

__all__ = ["PARENT", "Engine", "Failure", "LocalEngine"]

PARENT = "HMS_FORK_SERVER_OF"  # the environment variable that tells the server process whose it is

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a job has no result, in a sentence."""

    reason: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure behind an exception; what a user can mend speaks for itself."""
        if isinstance(error, HmsError):
            return cls(reason=str(error))
        return cls(reason=f"{type(error).__name__}: {error}")


class Engine(Protocol):
    """Something that does jobs and hands back (index, result) as they end, in any order."""

    def results(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result | Failure]]:
        """Do all jobs."""


class LocalEngine:
    """Processes on this machine; by default one a core."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or max(1, len(os.sched_getaffinity(0)))

    def results(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result | Failure]]:
        """Do all jobs; those that were running when a process died are tried again, each alone."""
        suspects: list[int] = []
        pending = list(range(len(jobs)))
        while pending:
            shift = _Shift(function, jobs, min(self.workers, len(pending)))
            yield from shift.ended_jobs(pending, suspects)
            pending = shift.left
        for index in suspects:
            alone = _Shift(function, jobs, 1)
            lost: list[int] = []
            yield from alone.ended_jobs([index], lost)
            if lost:
                yield index, Failure(reason="its process died (killed, or out of memory).")


class _Shift(Generic[Job, Result]):
    """One pool of processes, until the jobs are done or a process dies."""

    def __init__(self, function: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> None:
        self._function = function
        self._jobs = jobs
        self._workers = workers
        self.left: list[int] = []

    def ended_jobs(self, pending: Sequence[int], suspects: list[int]) -> Iterator[tuple[int, Result | Failure]]:
        """Yield what ends; if the pool breaks, running jobs become suspects and the rest is `left`."""
        before = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(self._workers, mp_context=_context(), initializer=_prepare_worker)
        try:
            with TemporaryDirectory(prefix="hms-results-") as spool:
                yield from self._gathered(pool, list(pending), suspects, Path(spool))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()

    def _gathered(
        self, pool: ProcessPoolExecutor, waiting: list[int], suspects: list[int], spool: Path
    ) -> Iterator[tuple[int, Result | Failure]]:
        running: dict[Future[None], int] = {}
        while waiting or running:
            # No more than the workers can take: what waits here is innocent if a process dies.
            while waiting and len(running) < self._workers:
                index = waiting.pop(0)
                running[pool.submit(_spooled, self._function, self._jobs[index], spool / str(index))] = index
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = [future for future in ended if isinstance(future.exception(), BrokenProcessPool)]
            for future in ended.difference(broken):
                index = running.pop(future)
                yield index, _collected(future.exception(), spool / str(index))
            if broken:
                suspects += sorted(running.values())
                self.left = waiting
                return


def _spooled(function: Callable[[Job], Result], job: Job, place: Path) -> None:
    """Runs in a worker: the result goes to a file.

    A worker that is ended while it writes a long result into the pool's pipe would leave the reader waiting for
    the rest for ever; through the pipe goes only the word that the file is there.
    """
    place.write_bytes(pickle.dumps(function(job), protocol=pickle.HIGHEST_PROTOCOL))


def _collected(error: BaseException | None, place: Path) -> Any:
    if error is not None:
        return Failure.of(error)
    result = pickle.loads(place.read_bytes())  # our own worker wrote it a moment ago
    place.unlink()
    return result


def _context() -> multiprocessing.context.BaseContext:
    """A server process that has the imports done and forks clean workers, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hybrid_ml_scheduler.studies.fork_server"])
    # One thread a library, since the workers take the cores; libraries read this when they are loaded.
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update({name: value or "1" for name, value in before.items()})
    try:
        _start_server()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
    return context


def _start_server() -> None:
    """Start the server process deaf to Ctrl-C until it can die of it silently; here the signal is only late."""
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # its start would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.environ[PARENT] = str(os.getpid())
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[PARENT]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _prepare_worker() -> None:
    """Silence on Ctrl-C, and no life after the parent's death."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
