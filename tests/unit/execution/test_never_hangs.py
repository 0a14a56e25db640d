"""Every future ends, whatever fails: the engine itself, an initializer, a callback, a worker that stands still."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hybrid_ml_scheduler.execution import ExecutorBroken, ExecutorOptions, HybridExecutor, KeptResultLost, task
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import add, pid, raises, same, slow, until_there

BOTH = pytest.mark.parametrize("workers", ["threads", "processes"])


def until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.perf_counter() + seconds
    while not holds() and time.perf_counter() < end:
        time.sleep(0.005)
    return holds()


PROGRAM = """
import os, resource, sys, time, concurrent.futures as futures
import numpy as np
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor
def has_exit(error): return isinstance(error, futures.BrokenExecutor) and isinstance(error.__cause__, OSError)
def limit(): resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))
executor = HybridExecutor(2, devices=[], options=ExecutorOptions(store=""))
if sys.argv[1] == "late": executor.wait_until_ready()
highest = max(int(name) for name in os.listdir("/proc/self/fd"))
running = [executor.submit(time.sleep, 600) for _ in range(2)] if sys.argv[1] == "late" else []
while not all(one.running() for one in running): time.sleep(0.01)
limit()
queued = list(running)
try:
    queued += [executor.submit(np.sum, np.ones(100_000)) for _ in range(5)]
    queued.append(executor.submit(abs, queued[-1]))
    if running: os.kill(executor._engine.workers[0].process.pid, 9)
except futures.BrokenExecutor as error:
    print(has_exit(error))
print(all(isinstance(one.exception(timeout=60), futures.BrokenExecutor) for one in queued), len(running))
try: executor.submit(abs, -1)
except futures.BrokenExecutor as error: print(has_exit(error))
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_an_engine_without_descriptors_ends_every_future_with_a_broken_executor(when: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, when], capture_output=True, text=True, timeout=120, check=False
    )
    words = done.stdout.split()  # one more where the executor had broken before all were submitted
    assert (words[-3:], "False" in words) == (["True", "2" if when == "late" else "0", "True"], False), done.stderr
    assert "The executor broke" in done.stderr
    assert "Too many open files" in done.stderr
    assert done.returncode == 0


def fails() -> None:
    raise ValueError("not today")


@BOTH
def test_an_initializer_that_fails_breaks_the_executor(workers: str, caplog: pytest.LogCaptureFixture) -> None:
    options = ExecutorOptions(store="", initializer=fails)
    executor = HybridExecutor(2, devices=[], workers=workers, options=options)
    logged = caplog.at_level(logging.CRITICAL, logger="concurrent.futures")
    with logged, suppress(BrokenExecutor):  # it may have broken already
        while True:
            error = executor.submit(same, 1).exception(timeout=60)
            assert isinstance(error, ExecutorBroken)
            assert isinstance(error.__cause__, ValueError)
    with pytest.raises(BrokenExecutor, match="ValueError: not today"):
        executor.submit(same, 1)
    assert "not today" in caplog.text
    executor.shutdown()


@BOTH
def test_a_callback_that_exits_stops_neither_the_executor_nor_other_callbacks(workers: str) -> None:
    with HybridExecutor(1, devices=[], workers=workers, options=NO_STORE) as executor:
        called = threading.Event()
        future = executor.submit(slow, 0.2)
        future.add_done_callback(lambda _: sys.exit(3))
        future.add_done_callback(lambda _: called.set())
        child = executor.submit(add, future, 1.0)
        assert child.result(timeout=60) == 1.2
        assert called.wait(60)
        assert executor.submit(same, 1).result(timeout=60) == 1


def test_an_idle_worker_that_is_stopped_gives_its_task_to_another(tmp_path: Path) -> None:
    with HybridExecutor(1, devices=[], options=NO_STORE) as executor:
        worker = executor.submit(pid).result()
        os.kill(worker, signal.SIGSTOP)
        limited = task(pid, kind="limited", timeout_s=30.0)
        futures = [executor.submit(limited), executor.submit(pid)]
        assert worker not in {future.result(timeout=60) for future in futures}
        assert until(lambda: not psutil.pid_exists(worker))


def test_a_busy_worker_that_is_stopped_is_overdue_at_the_time_out(tmp_path: Path) -> None:
    with HybridExecutor(1, devices=[], options=NO_STORE) as executor:
        worker = executor.submit(pid).result()
        future = executor.submit(task(until_there, kind="limited", timeout_s=0.5), str(tmp_path / "never"))
        assert until(future.running)
        os.kill(worker, signal.SIGSTOP)
        assert isinstance(future.exception(timeout=60), TimeoutError)
        assert executor.submit(same, 1).result(timeout=60) == 1


def workers_of_this_program() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@BOTH
def test_an_executor_that_is_dropped_ends_its_tasks_and_its_workers_leave(workers: str) -> None:
    processes, threads = workers_of_this_program(), {thread.name for thread in threading.enumerate()}
    executor = HybridExecutor(2, devices=[], workers=workers, options=NO_STORE)
    futures = [executor.submit(slow, 0.1) for _ in range(6)]
    del executor
    gc.collect()
    assert [future.result(timeout=60) for future in futures] == [0.1] * 6
    assert until(lambda: workers_of_this_program() <= processes)
    assert until(lambda: {thread.name for thread in threading.enumerate()} <= threads)


def test_an_executor_that_is_replaced_by_a_new_one_leaves_nothing() -> None:
    processes, descriptors = workers_of_this_program(), len(os.listdir("/proc/self/fd"))
    for _ in range(3):  # a cell that is run again
        executor = HybridExecutor(1, devices=[], options=NO_STORE)
        assert executor.submit(same, 1).result() == 1
    HybridExecutor(1, devices=[], options=NO_STORE)  # never used
    del executor
    gc.collect()
    assert until(lambda: workers_of_this_program() <= processes)
    assert until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)


def test_a_program_that_drops_its_executor_still_finishes_its_tasks(tmp_path: Path) -> None:
    program, mark = tmp_path / "program.py", tmp_path / "mark"
    program.write_text(
        "import sys, time, pathlib\n"
        "from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor\n"
        "def write(path): time.sleep(0.3); pathlib.Path(path).write_text('done')\n"
        "def begin(): HybridExecutor(1, devices=[], options=ExecutorOptions(store='')).submit(write, sys.argv[1])\n"
        "if __name__ == '__main__': begin()\n"
    )
    done = subprocess.run([sys.executable, str(program), str(mark)], timeout=120, check=False)
    assert (done.returncode, mark.read_text()) == (0, "done")


def test_a_kept_result_of_an_executor_that_has_ended_is_lost_with_a_sentence() -> None:
    with HybridExecutor(1, devices=[], options=NO_STORE) as executor:
        kept = executor.submit(task(same, kind="kept", keep=True), 7).result()
        assert kept.fetch() == 7
    with pytest.raises(KeptResultLost):
        kept.fetch()


@BOTH
def test_submitting_inside_an_event_loop_waits_for_room_without_blocking_the_loop(workers: str, tmp_path: Path) -> None:
    options, mark = ExecutorOptions(store="", queue_limit=3), tmp_path / "mark"
    with HybridExecutor(1, devices=[], workers=workers, options=options) as executor:

        async def release() -> None:
            await asyncio.sleep(0)
            mark.write_text("x")  # a blocked loop would never come here

        async def ask() -> list[int]:
            held = [executor.submit_async(until_there, str(mark)) for _ in range(3)]
            asked = [executor.submit_async(same, number) for number in range(50)]
            return list(await asyncio.gather(*held, *asked, release()))[3:-1]

        assert asyncio.run(ask()) == list(range(50))


@BOTH
def test_a_submission_that_is_cancelled_while_it_waits_for_room_leaves_the_room_to_others(
    workers: str, tmp_path: Path
) -> None:
    options, mark = ExecutorOptions(store="", queue_limit=1), tmp_path / "mark"
    with HybridExecutor(1, devices=[], workers=workers, options=options) as executor:

        async def ask() -> list[object]:
            held = asyncio.create_task(executor.submit_async(until_there, str(mark)))
            waiting = [asyncio.create_task(executor.submit_async(same, number)) for number in range(6)]
            await asyncio.sleep(0)
            for one in waiting[::2]:
                one.cancel()
            mark.write_text("x")
            await held
            return await asyncio.gather(*waiting, return_exceptions=True)

        found = asyncio.run(ask())
        assert found[1::2] == [1, 3, 5]
        assert all(isinstance(one, asyncio.CancelledError) for one in found[::2])


def test_an_exception_of_an_awaited_task_is_raised(either: HybridExecutor) -> None:
    async def ask() -> None:
        await either.submit_async(raises, "oh")

    with pytest.raises(KeyError, match="oh"):
        asyncio.run(ask())


@BOTH
def test_an_object_whose_method_was_called_is_let_go(workers: str) -> None:
    class Held:
        def method(self) -> int:
            return 1

    with HybridExecutor(1, devices=[], workers=workers, options=NO_STORE) as executor:
        held = Held()
        gone = weakref.ref(held)
        future = executor.submit(held.method)
        del held
        assert future.result(timeout=60) == 1
        assert until(lambda: gone() is None)
