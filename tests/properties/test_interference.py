"""The event form with interference: the recurrence where nothing interferes, a naive reference where something does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster.interference import Interference, run_events

Floats = npt.NDArray[np.float64]
parts = st.lists(
    st.tuples(
        st.floats(0.0, 2.0),
        st.sampled_from([0.0, 0.3, 1.7]),
        st.just(0.0) | st.floats(0.001, 3.0),
        st.integers(0, 1),
        st.integers(0, 1),
    ).filter(lambda part: part[1] + part[2] > 0.0),
    min_size=1,
    max_size=25,
)


class Columns(NamedTuple):
    """Parts of tasks in order of readiness."""

    ready: Floats
    cpu: Floats
    gpu: Floats
    where: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]


def columns(drawn: list[tuple[float, float, float, int, int]]) -> Columns:
    gaps, cpu, gpu, where, kind = (np.array(column) for column in zip(*drawn, strict=True))
    return Columns(np.cumsum(gaps), cpu, gpu, where.astype(np.int64), kind.astype(np.int64))


def recurrence(ready: Floats, cpu: Floats, gpu: Floats, where: npt.NDArray[np.int64], slots: int) -> Floats:
    """First-in first-out with fixed seconds: a finish is the later of ready and free, plus the seconds."""
    free_cpu, free_gpu = [0.0] * slots, [0.0, 0.0]
    finish = np.zeros(len(ready))
    for row in range(len(ready)):
        ends = []
        if cpu[row] > 0.0:
            slot = free_cpu.index(min(free_cpu))
            free_cpu[slot] = max(free_cpu[slot], ready[row]) + cpu[row]
            ends.append(free_cpu[slot])
        if gpu[row] > 0.0:
            free_gpu[where[row]] = max(free_gpu[where[row]], ready[row]) + gpu[row]
            ends.append(free_gpu[where[row]])
        finish[row] = max(ends)
    return finish


@given(parts, st.integers(1, 3))
def test_without_interference_every_finish_is_that_of_the_recurrence_to_the_last_bit(
    drawn: list[tuple[float, float, float, int, int]], slots: int
) -> None:
    ready, cpu, gpu, where, kind = columns(drawn)
    run = run_events(ready, cpu, gpu, where, 2, Interference.of(kinds=2), slots, kind)
    np.testing.assert_array_equal(run.finish_s, recurrence(ready, cpu, gpu, where, slots))


def naive(
    ready: Floats, cpu: Floats, gpu: Floats, where: npt.NDArray[np.int64], kind: npt.NDArray[np.int64],
    slots: int, factors: Interference,
) -> Floats:  # fmt: skip
    """Shares of the work done, moved on from event to event with exact rates; no array, no rescaling in place."""
    waiting: dict[Any, list[dict[str, Any]]] = {"cpu": [], 0: [], 1: []}
    running: list[dict[str, Any]] = []
    finish = np.zeros(len(ready))
    now, coming = 0.0, 0
    while coming < len(ready) or running:
        busy_cpu = sum(part["on"] == "cpu" for part in running)
        busy_gpu = len(running) - busy_cpu
        for part in running:
            code = int(part["kind"])
            if part["on"] == "cpu":
                rate = factors.cpu_factor[code] if busy_gpu else 1.0
                if slots > 1 and busy_cpu > 1:
                    rate *= 1.0 + (factors.within_factor[code] - 1.0) * (busy_cpu - 1) / (slots - 1)
            else:
                rate = 1.0 + (factors.gpu_factor[code] - 1.0) * busy_cpu / slots
            part["speed"] = 1.0 / (rate * float(part["seconds"]))
        ends = [now + (1.0 - float(part["done"])) / float(part["speed"]) for part in running]
        moment = min([*ends, ready[coming] if coming < len(ready) else np.inf])
        first = ends.index(moment) if moment in ends else None
        for part in running:
            part["done"] = float(part["done"]) + (moment - now) * float(part["speed"])
        now = moment
        if first is not None:
            ended = running.pop(first)
            finish[int(ended["row"])] = max(finish[int(ended["row"])], now)
        else:
            for line, seconds in (("cpu", cpu[coming]), (int(where[coming]), gpu[coming])):
                if seconds > 0.0:
                    waiting[line].append(
                        {"row": coming, "seconds": seconds, "kind": kind[coming], "done": 0.0, "on": line}
                    )
            coming += 1
        for line, places in (("cpu", slots), (0, 1), (1, 1)):
            while waiting[line] and sum(part["on"] == line for part in running) < places:
                running.append(waiting[line].pop(0))
    return finish


@given(parts, st.integers(1, 3), st.floats(1.0, 3.0), st.floats(1.0, 3.0), st.floats(1.0, 2.0))
def test_with_interference_every_finish_is_that_of_a_naive_reference(
    drawn: list[tuple[float, float, float, int, int]], slots: int, on_cpu: float, on_gpu: float, within: float
) -> None:
    ready, cpu, gpu, where, kind = columns(drawn)
    factors = Interference(
        cpu_factor=np.array([on_cpu, 1.0]), gpu_factor=np.array([1.0, on_gpu]), within_factor=np.array([within, 1.2])
    )
    run = run_events(ready, cpu, gpu, where, 2, factors, slots, kind)
    np.testing.assert_allclose(run.finish_s, naive(ready, cpu, gpu, where, kind, slots, factors), rtol=1e-7, atol=1e-6)
