"""`HybridExecutor`: a `concurrent.futures.Executor` that places every task where it is believed to end well."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from functools import partial
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
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer, strategy_of
from hybrid_ml_scheduler.execution.placing.store import PerformanceStore, store_folder
from hybrid_ml_scheduler.execution.program_report import live_report, write_report
from hybrid_ml_scheduler.execution.session import Session
from hybrid_ml_scheduler.execution.task_flow import TaskFlow
from hybrid_ml_scheduler.execution.tasks import TaskFunction, task_within
from hybrid_ml_scheduler.execution.work import TaskRecord, Work
from hybrid_ml_scheduler.execution.workers.engines import joined_cluster
from hybrid_ml_scheduler.execution.workers.serving import shut_down
from hybrid_ml_scheduler.execution.workers.worker import importing_main

__all__ = ["HybridExecutor"]

DEFAULT_STRATEGY = "earliest_device"


class HybridExecutor(Executor):
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
        ledger = self._ledger = Ledger(self._placer, self._options)
        self._engine = cluster.engine(workers, self._places, ledger, self._options)
        self._flow = TaskFlow(ledger, self._engine)
        store, name, places_named = self._opened_store(), chosen.name, self.place_names
        workers_of = {device.name: device.workers for device in self._devices}

        def keep() -> None:
            write_report(name, places_named, ledger.latest())
            if store is not None:
                store.save()

        self._session = Session(
            self._flow, self._engine, lambda: live_report(name, workers_of, places_named, ledger.latest), keep
        )
        # The threads of the session do not know the executor: one that is dropped is collected.
        weakref.finalize(self, self._session.drop).atexit = False

    # -- concurrent.futures ------------------------------------------------------------------------------------

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> HybridFuture:
        """Run `fn(*args, **kwargs)` somewhere; futures among the arguments are waited for.

        Waits while `queue_limit` tasks are unfinished, except inside tasks and callbacks of this executor.
        """
        self._check_open()
        if not callable(fn):
            raise TypeError(f"{fn!r} cannot be called.")
        return self._flow.submit(Work(self._engine.new_future(), *task_within(fn, args, kwargs)))

    async def submit_async(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The result of `fn(*args, **kwargs)`; where `queue_limit` tasks are unfinished, the event loop goes on."""
        loop = asyncio.get_running_loop()
        while True:
            self._check_open()
            room = loop.create_future()
            if self._ledger.open.when_room(partial(_told_of_room, loop, room)):
                break
            try:
                await room
            except asyncio.CancelledError:
                if room.done():
                    self._ledger.open.tell_of_room()  # somebody else may have it
                raise
        work = Work(self._engine.new_future(), *task_within(fn, args, kwargs))
        return await asyncio.wrap_future(self._flow.submit(work, wait=False))

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
        self._session.shutdown(wait, cancel_futures)

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
        self._session.shutdown(wait=True, cancel_futures=True, kill=True)

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
        return self._flow.last_id + 1

    def now_s(self) -> float:
        """Seconds since the executor was made: the clock of its records."""
        return self._ledger.now_s()

    def wait_until_ready(self) -> None:
        """Start the workers and wait until all of them can take tasks."""
        self._check_open()
        self._engine.wait_until_ready()
        self._check_open()

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
        session, ledger = self._session, self._ledger
        if session.is_closed:
            raise shut_down()
        if session.pid != os.getpid():
            raise RuntimeError("This executor belongs to another process: make one after the fork.")
        if ledger.open.no_more is not None:
            raise ledger.open.no_more()
        if ledger.problem is not None:
            problem, ledger.problem = ledger.problem, None
            raise problem
        if not session.is_started:
            session.start()


def _told_of_room(loop: asyncio.AbstractEventLoop, room: asyncio.Future[None]) -> bool:
    """Wake who waits for room; False if nobody does any more."""
    if loop.is_closed() or room.cancelled():
        return False
    loop.call_soon_threadsafe(_open_door, room)
    return True


def _open_door(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)
