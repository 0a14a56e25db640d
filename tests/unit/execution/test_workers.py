"""Worker processes die, hang and lie; every future ends, and only the guilty task is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.execution import (
    ExecutionError,
    ExecutorOptions,
    HybridExecutor,
    NotTransferable,
    TaskTimeout,
    WorkerDied,
    task,
)
from tests.architecture.source import REPOSITORY
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import (
    NeverPickled,
    NeverUnpickled,
    add,
    closes_everything,
    cores,
    die,
    die_once,
    fork_and_die,
    forks,
    hostile,
    note,
    pid,
    same,
    slow,
)


def descendants() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_worker_that_is_killed_fails_its_own_task_only(processes: HybridExecutor) -> None:
    victim = processes.submit(die)
    others = [processes.submit(same, number) for number in range(50)]
    with pytest.raises(WorkerDied, match="signal 9"):
        victim.result()
    assert [future.result() for future in others] == list(range(50))


def test_a_task_whose_worker_died_is_started_again_if_it_may_be(processes: HybridExecutor, tmp_path: Path) -> None:
    again = task(die_once, kind="again", retries=1)
    assert processes.submit(again, str(tmp_path / "mark")).result() == "alive"


def test_a_task_that_exceeds_its_time_is_stopped_and_the_worker_replaced(processes: HybridExecutor) -> None:
    endless = task(slow, kind="endless", timeout_s=0.2)
    began = time.perf_counter()
    with pytest.raises(TaskTimeout, match=r"endless ran longer than 0.2 s"):
        processes.submit(endless, 600.0).result()
    assert time.perf_counter() - began < 300.0, "it was waited for"
    assert processes.submit(same, 1).result() == 1


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        ((same, NeverPickled()), NotTransferable, "argument of .* cannot be sent .* not me"),
        ((same, NeverUnpickled()), NotTransferable, "arguments cannot be unpacked in the worker: .*unpacking"),
        ((hostile, "result"), NotTransferable, "result .NeverPickled. cannot be sent .* not me"),
        ((hostile, "result here"), NotTransferable, "cannot be unpacked here: KeyError"),
        ((hostile, "lock"), NotTransferable, "cannot be sent"),
        ((hostile, "exception"), ExecutionError, "TwoArguments: ab"),
    ],
)
def test_what_is_hostile_to_pickle_becomes_a_sentence(
    processes: HybridExecutor, call: tuple[Any, ...], kind: type[Exception], sentence: str
) -> None:
    future = processes.submit(*call)
    with pytest.raises(kind, match=sentence):
        future.result(timeout=60)
    assert isinstance(future.exception(), kind)


def test_a_fork_in_a_task_neither_answers_twice_nor_hides_a_death(processes: HybridExecutor) -> None:
    assert processes.submit(forks).result(timeout=60) > 0
    with pytest.raises(WorkerDied):
        processes.submit(fork_and_die).result(timeout=60)
    with pytest.raises(WorkerDied):
        processes.submit(closes_everything).result(timeout=60)
    assert processes.submit(same, 3).result(timeout=60) == 3


def test_tasks_behind_one_that_takes_unexpectedly_long_go_to_another_worker(processes: HybridExecutor) -> None:
    while len({future.result() for future in [processes.submit(pid) for _ in range(40)]}) < 2:
        processes.submit(slow, 0.05).result()
    assert sum(processes.map(slow, [0.0] * 300)) == 0.0
    liar = processes.submit(slow, 4.0)
    assert sum(processes.map(slow, [0.0] * 300)) == 0.0
    assert not liar.done()
    assert liar.result() == 4.0


def test_workers_keep_to_their_own_cores() -> None:
    count = len(os.sched_getaffinity(0))
    with HybridExecutor(count, devices=[], options=NO_STORE) as executor:
        held = {executor.submit(pid).result(): frozenset(executor.submit(cores).result()) for _ in range(1)}
        assert all(len(one) == 1 for one in held.values())


def test_blocks_of_memory_are_used_again_and_none_is_left(processes: HybridExecutor) -> None:
    sent = np.ones(300_000)
    processes.submit(same, sent).result()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        assert processes.submit(same, sent).result().sum() == 300_000
    held = [processes.submit(same, sent).result() for _ in range(100)]
    assert sum(one[0] for one in held) == 100
    del held
    processes.submit(same, 1).result()
    assert len(os.listdir("/proc/self/fd")) <= before + 2 * 64 + 8
    assert not [name for name in os.listdir("/dev/shm") if "hms" in name]


def test_nothing_is_left_behind_after_shutdown() -> None:
    before, descriptors = descendants(), len(os.listdir("/proc/self/fd"))
    threads = {thread.name for thread in threading.enumerate()}
    with HybridExecutor(2, devices=[], options=NO_STORE) as executor:
        executor.submit(same, np.ones(500_000)).result()
    assert descendants() == before
    assert {thread.name for thread in threading.enumerate()} == threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_leaving_by_an_interrupt_stops_running_tasks_at_once() -> None:
    executor = HybridExecutor(1, devices=[], options=NO_STORE)
    executor.submit(same, 1).result()
    running, waiting = executor.submit(slow, 600.0), executor.submit(slow, 600.0)
    while not running.running():
        time.sleep(0.001)
    executor.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert isinstance(running.exception(timeout=0), WorkerDied)
    assert waiting.cancelled()


PROGRAM = """
import os, signal, sys, time
from hybrid_ml_scheduler.execution import HybridExecutor, ExecutorOptions
def slow(seconds): time.sleep(seconds); return seconds
if __name__ == "__main__":
    executor = HybridExecutor(2, devices=[], options=ExecutorOptions(store=""))
    futures = [executor.submit(slow, 600.0) for _ in range(2)]
    while not all(future.running() for future in futures): time.sleep(0.01)
    print(*(worker.process.pid for worker in executor._engine.workers), flush=True)
    if sys.argv[1] == "die": os.kill(os.getpid(), signal.SIGKILL)
    with executor: time.sleep(600)
"""


def started(tmp_path: Path, how: str) -> tuple[subprocess.Popen[str], list[int]]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    running = subprocess.Popen([sys.executable, str(program), how], stdout=subprocess.PIPE, text=True, env=environment)
    assert running.stdout is not None
    return running, [int(word) for word in running.stdout.readline().split()]


def gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(one) and psutil.Process(one).status() != "zombie" for one in pids)


@pytest.mark.parametrize("how", ["die", "interrupt"])
def test_workers_end_with_a_parent_that_is_killed_or_interrupted(tmp_path: Path, how: str) -> None:
    running, workers = started(tmp_path, how)
    assert len(workers) == 2
    if how == "interrupt":
        running.send_signal(signal.SIGINT)
    running.wait(180)
    if running.stdout is not None:
        running.stdout.close()
    until = time.perf_counter() + 180
    while not gone(workers) and time.perf_counter() < until:
        time.sleep(0.02)
    assert gone(workers)


def test_an_executor_made_while_workers_import_the_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "unguarded.py"
    program.write_text(
        "from hybrid_ml_scheduler.execution import HybridExecutor, ExecutorOptions\n"
        "def same(value): return value\n"
        "executor = HybridExecutor(1, devices=[], options=ExecutorOptions(store=''))\n"
        "print(repr(executor.submit(same, 1).exception()))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert "No worker process of cpu can be started" in done.stdout
    assert '__name__ == "__main__"' in done.stderr


def test_a_script_on_stdin_and_its_classes_reach_the_workers() -> None:
    script = (
        "from hybrid_ml_scheduler.execution import HybridExecutor, ExecutorOptions\n"
        "class Own: value = 3\n"
        "def read(own): return own.value, own\n"
        "with HybridExecutor(1, devices=[], options=ExecutorOptions(store='')) as executor:\n"
        "    value, back = executor.submit(read, Own()).result()\n"
        "    print(value, isinstance(back, Own))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("3 True", "")


def test_an_executor_belongs_to_the_process_that_made_it(processes: HybridExecutor) -> None:
    assert processes.submit(same, 1).result() == 1
    child = os.fork()
    if child == 0:
        try:
            processes.submit(same, 1)
        except RuntimeError as error:
            os._exit(0 if "another process" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert processes.submit(same, 2).result() == 2
    with pytest.raises(NotTransferable, match="executor cannot be sent"):
        processes.submit(same, processes).result()


def test_tasks_run_once_and_all_end_while_workers_are_killed_at_random(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    soak = request.config.getoption("--soak")
    tasks, kills = (1000, 50) if soak else (120, 4)
    log = tmp_path / "log"
    rng = stream(1, "execution", "kills")
    with HybridExecutor(2, devices=[], options=NO_STORE) as executor:
        executor.submit(same, 1).result()
        futures = [executor.submit(note, str(log), number, 0.01) for number in range(tasks)]
        for pause in rng.uniform(0.0, 0.02 * tasks / kills / 2, kills):
            time.sleep(pause)
            workers = [worker for worker in executor._engine.workers if worker.process.poll() is None]  # type: ignore[attr-defined]
            if workers:
                os.kill(workers[int(rng.integers(len(workers)))].process.pid, signal.SIGKILL)
        ends = [future.exception(timeout=120) for future in futures]
    ran = Counter(int(line) for line in log.read_text().split())
    assert max(ran.values()) == 1
    lost = [number for number, error in enumerate(ends) if error is not None]
    assert all(isinstance(ends[number], WorkerDied) for number in lost)
    assert len(lost) <= kills
    assert set(ran) | set(lost) == set(range(tasks))


def test_memory_and_descriptors_stay_flat(request: pytest.FixtureRequest) -> None:
    rounds = 100 if request.config.getoption("--soak") else 8
    options = ExecutorOptions(store="", history=100)
    with HybridExecutor(2, devices=[], options=options) as executor:
        for _ in range(3):
            list(executor.map(same, range(1000)))
        memory, descriptors = psutil.Process().memory_info().rss, len(os.listdir("/proc/self/fd"))
        for _ in range(rounds):
            assert sum(executor.map(add, range(1000), range(1000))) == 999_000
        assert psutil.Process().memory_info().rss - memory < 16e6
        assert len(os.listdir("/proc/self/fd")) <= descriptors
