"""Jobs in processes: all are done, failures are told apart from results, and a dead process takes nobody along."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from typing import cast

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.studies.engines import Failure, LocalEngine


def job(value: int) -> int:
    if value == 3:
        raise PlanError("three is refused.")
    if value == 4:
        raise ZeroDivisionError("by zero")
    if value == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value


def test_every_job_is_done_once() -> None:
    found = dict(LocalEngine(2).results(job, [0, 1, 2, 10]))
    assert found == {0: 0, 1: 1, 2: 4, 3: 100}


def test_a_failing_job_is_a_sentence_and_the_rest_goes_on() -> None:
    found = dict(LocalEngine(2).results(job, [2, 3, 4, 6]))
    assert found[1] == Failure(reason="three is refused.")
    assert found[2] == Failure(reason="ZeroDivisionError: by zero")
    assert (found[0], found[3]) == (4, 36)


def test_a_killed_process_costs_its_own_job_only() -> None:
    found = dict(LocalEngine(2).results(job, [1, 5, 2, 6, 7]))
    assert isinstance(found[1], Failure)
    assert "died" in found[1].reason
    assert {index: value for index, value in found.items() if index != 1} == {0: 1, 2: 4, 3: 36, 4: 49}


def large(value: int) -> bytes:
    return bytes(8_000_000)


def test_giving_up_while_workers_hand_over_long_results_does_not_hang() -> None:
    for _ in range(3):
        results = cast(Generator[tuple[int, bytes]], LocalEngine(2).results(large, list(range(20))))
        assert isinstance(next(results)[1], bytes)
        results.close()
    # The pool's own thread must end too, or the interpreter could not.
    for thread in [one for one in threading.enumerate() if "ExecutorManager" in type(one).__name__]:
        thread.join(timeout=120)
        assert not thread.is_alive()


def test_no_jobs_are_no_work() -> None:
    assert list(LocalEngine(2).results(job, [])) == []
