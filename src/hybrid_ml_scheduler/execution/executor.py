"""`HybridExecutor`: a `concurrent.futures.Executor` that places every task where it is believed to end well."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from types import TracebackType
from typing import Any

from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.execution.chunks import ChunkedTask, flat_chunks, results_in_order
from hybrid_ml_scheduler.execution.devices import Devices, places
from hybrid_ml_scheduler.execution.errors import ExecutionError
from hybrid_ml_scheduler.execution.explaining import explanation
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.parents import parents_of, when_done
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer, strategy_of
from hybrid_ml_scheduler.execution.placing.store import PerformanceStore, store_folder
from hybrid_ml_scheduler.execution.program_report import LiveReport, live_report, write_report
from hybrid_ml_scheduler.execution.task_flow import TaskFlow
from hybrid_ml_scheduler.execution.tasks import TaskFunction, task_within
from hybrid_ml_scheduler.execution.work import TaskRecord, Work
from hybrid_ml_scheduler.execution.workers.engines import joined_cluster
from hybrid_ml_scheduler.execution.workers.worker import importing_main

__all__ = ["HybridExecutor"]

DEFAULT_STRATEGY = "earliest_device"
_OPEN: weakref.WeakSet[HybridExecutor] = weakref.WeakSet()


class HybridExecutor(TaskFlow, Executor):
    """Runs functions on the CPU and on every further device that has an implementation of them.

    `max_workers` CPU workers and `devices` beside them: names or `Device`; by default every CUDA GPU. `strategy` is
    the name of a registered strategy, its class or an instance. `workers` is `processes` or `threads`. With
    `engine="ray"` the workers are those of the Ray cluster at `address`.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        devices: Devices = None,
        strategy: str | type | Scheduler = DEFAULT_STRATEGY,
        workers: str = "processes",
        engine: str = "local",
        address: str | None = None,
        options: ExecutorOptions | None = None,
    ) -> None:
        if importing_main():
            raise RuntimeError(
                "A worker process imports the main program to find its functions, and the program makes an executor "
                'while it is imported: put that part under `if __name__ == "__main__":`.'
            )
        self._options = options or ExecutorOptions()
        chosen = strategy_of(strategy)
        cluster = joined_cluster(engine, address, workers)
        self._devices = cluster.devices(max_workers, devices)
        self._places = places(self._devices)
        self._durations = LearnedDurations([place.device for place in self._places])
        self._placer = Placer(chosen, self._places, self._durations, self._options.seed)
        ledger = Ledger(self._placer, self._options)
        super().__init__(ledger, cluster.engine(workers, self._places, ledger, self._options))
        self._store = self._opened_store()
        self._lock = threading.Lock()
        self._started = self._closed = False
        self._live: LiveReport | None = None
        self._pid = os.getpid()
        _OPEN.add(self)

    # -- concurrent.futures ------------------------------------------------------------------------------------

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> HybridFuture:
        """Run `fn(*args, **kwargs)` somewhere; futures among the arguments are waited for.

        Waits while `queue_limit` tasks are unfinished, except inside tasks and callbacks of this executor.
        """
        if self._closed or not self._started or self._ledger.problem is not None or self._pid != os.getpid():
            self._check_open()
        if not callable(fn):
            raise TypeError(f"{fn!r} cannot be called.")
        future = self._engine.new_future()
        work = Work(future, *task_within(fn, args, kwargs))
        future.work = work
        work.task_id = self._new_id()
        parents = [] if _are_plain(args, kwargs) else parents_of(args, kwargs)
        if not parents:
            self._go(work)
            return future
        self._ledger.enter(wait=not self._engine.is_own_thread())
        work.submitted_s = self._ledger.now_s()
        when_done(parents, lambda: self._after_parents(work, parents))
        return future

    def map(
        self, fn: Callable[..., Any], /, *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """Results in the order of the arguments; `chunksize` calls of a function travel and run as one task."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        found = task_within(fn, (), {})[0]
        if chunksize == 1 or (isinstance(found, TaskFunction) and found.chosen.keep):
            return super().map(fn, *iterables, timeout=timeout)
        chunked = ChunkedTask(fn, len(iterables))
        end = None if timeout is None else time.monotonic() + timeout
        futures = [self.submit(chunked, *flat) for flat in flat_chunks(iterables, chunksize)]
        return results_in_order(futures, end)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; with `cancel_futures`, those that have not begun are cancelled."""
        with self._lock:
            first, self._closed = not self._closed, True
        if self._pid != os.getpid():
            return
        if cancel_futures:
            self._cancel_undecided()
            self._engine.cancel_waiting()
        if first:
            self._engine.stop()
        if not self._started:
            self._finished()
        elif wait:
            self._engine.join()
            self._finished()
        elif first:
            threading.Thread(target=self.shutdown, name="hms-shutdown", daemon=True).start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.kill()
        else:
            self.shutdown(wait=True)
        return None

    # -- beyond it ----------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """Stop at once: waiting tasks are cancelled, processes that run tasks are ended, their tasks fail."""
        self._closed = True
        self._cancel_undecided()
        self._engine.cancel_waiting()
        self._engine.stop(kill=True)
        if self._started:
            self._engine.join()
        self._finished()

    def explain(self, future: HybridFuture) -> Mapping[str, Any]:
        """Where a task went and why: what was believed about every place, and what was measured."""
        work = future.work
        if not isinstance(work, Work):
            raise ExecutionError("This future does not belong to an executor's task.")
        with self._ledger.lock:
            return explanation(future, work, self._placer, self._places)

    @property
    def strategy(self) -> Scheduler:
        """The strategy that decides."""
        return self._placer.strategy

    @property
    def durations(self) -> LearnedDurations:
        """What has been learned about durations."""
        return self._durations

    @property
    def place_names(self) -> tuple[str, ...]:
        """The CPU first, then every further device."""
        return tuple(place.name for place in self._places)

    @property
    def num_workers(self) -> int:
        """How many workers there are, of all devices."""
        return sum(place.workers for place in self._places)

    @property
    def next_task_id(self) -> int:
        """The id that the next task will have."""
        return self._last_id + 1

    def now_s(self) -> float:
        """Seconds since the executor was made: the clock of its records."""
        return self._ledger.now_s()

    def wait_until_ready(self) -> None:
        """Start the workers and wait until all of them can take tasks."""
        self._check_open()
        self._engine.wait_until_ready()

    def records(self, after: int = 0) -> list[TaskRecord]:
        """The latest finished tasks, oldest first; `after` leaves out the first so many that ended."""
        return self._ledger.latest(after)

    def statistics(self) -> dict[str, Any]:
        """How many tasks ended how, and how many are unfinished."""
        return self._ledger.snapshot()

    def __reduce__(self) -> Any:
        raise TypeError("An executor cannot be sent to a worker: submit from the main program, or make one there.")

    # -- on the way ---------------------------------------------------------------------------------------------

    def _opened_store(self) -> PerformanceStore | None:
        """The measured times of earlier programs, learned from, and this one's to be added."""
        where = self._options.store
        if where == "":
            return None
        store = PerformanceStore(store_folder() if where is None else Path(where))
        self._durations.learn(store.observations())
        self._ledger.measured = store.add
        return store

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("This executor was shut down and takes no more tasks.")
        if self._pid != os.getpid():
            raise RuntimeError("This executor belongs to another process: make one after the fork.")
        if self._ledger.problem is not None:
            problem, self._ledger.problem = self._ledger.problem, None
            raise problem
        if not self._started:
            with self._lock:
                if not self._started:
                    self._engine.start()
                    self._started = True
                    workers = {device.name: device.workers for device in self._devices}
                    self._live = live_report(self.strategy.name, workers, self.place_names, self._ledger.latest)

    def _finished(self) -> None:
        """Nothing runs any more: keep what was measured, once."""
        if self not in _OPEN:
            return
        _OPEN.discard(self)
        self._engine.close()
        if self._live is not None:
            self._live.stop()
        write_report(self.strategy.name, self.place_names, self._ledger.latest())
        if self._store is not None:
            self._store.save()


def _are_plain(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments hold no futures, no arrays, no kept results, and nothing that is hostile to pickle."""
    for value in args:
        if type(value) not in _PLAIN_TYPES:
            return False
    return not kwargs


_PLAIN_TYPES = frozenset({int, float, str, bytes, bool, type(None), complex})


def _close_all() -> None:
    """At the end of the program: let every executor finish its tasks, unless the program was interrupted."""
    interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)
    for executor in list(_OPEN):
        if interrupted:
            executor.kill()
        else:
            executor.shutdown(wait=True)


atexit.register(_close_all)
