"""Queueing theory in closed form, met inside 99 % confidence intervals that are themselves narrow.

The seeds are fixed, so a run is the same on every machine; they were not chosen, they are 1, 2 and 3.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.queues import (
    TASKS,
    arrivals,
    batch_means,
    erlang_c,
    exponential_service,
    run,
    tasks,
)

SEEDS = (1, 2, 3)
RATE = 0.7
NARROW = 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_one_device_with_exponential_service_waits_as_m_m_1(seed: int) -> None:
    columns = run(tasks(arrivals(seed, RATE), exponential_service(seed, 1.0)), "cpu_only")
    wait, theory = batch_means(columns.wait_s), RATE / (1.0 - RATE)
    assert wait.holds(theory)
    assert wait.half_width < NARROW * theory
    straight_away = batch_means((columns.wait_s < 1e-9).astype(np.float64))
    assert straight_away.holds(1.0 - RATE)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_device_with_constant_service_waits_as_m_d_1(seed: int) -> None:
    wait = batch_means(run(tasks(arrivals(seed, RATE), np.ones(TASKS)), "cpu_only").wait_s)
    theory = RATE / (2.0 * (1.0 - RATE))
    assert wait.holds(theory)
    assert wait.half_width < NARROW * theory
    assert not wait.holds(2.0 * theory)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_gpu_and_the_cpu_are_the_same_queue(seed: int) -> None:
    batch = tasks(arrivals(seed, RATE), exponential_service(seed, 1.0))
    np.testing.assert_array_equal(run(batch, "gpu_only").finish_s, run(batch, "cpu_only").finish_s)


@pytest.mark.parametrize("seed", SEEDS)
def test_service_that_comes_as_luck_waits_as_m_m_1_too(seed: int) -> None:
    known = run(tasks(arrivals(seed, RATE), exponential_service(seed, 1.0)), "cpu_only")
    lucky = run(tasks(arrivals(seed, RATE), np.ones(TASKS), duration_factor=exponential_service(seed, 1.0)), "cpu_only")
    np.testing.assert_array_equal(lucky.finish_s, known.finish_s)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gpus", [2, 4])
def test_least_backlog_over_equal_gpus_waits_as_m_m_c(seed: int, gpus: int) -> None:
    """Sending each task to the GPU that is free first is one common queue: Erlang C."""
    offered = 0.8 * gpus
    wait = batch_means(run(tasks(arrivals(seed, offered), exponential_service(seed, 1.0)), "gpu_only", gpus).wait_s)
    theory = erlang_c(gpus, offered) / (gpus - offered)
    assert wait.holds(theory)
    assert wait.half_width < 2 * NARROW * theory


@pytest.mark.parametrize("seed", SEEDS)
def test_littles_law_links_number_in_system_rate_and_latency(seed: int) -> None:
    arrival = arrivals(seed, RATE)
    columns = run(tasks(arrival, exponential_service(seed, 1.0)), "cpu_only")
    # The number in the system, counted from arrivals and departures alone, without any latency.
    moments = np.concatenate([arrival, columns.finish_s])
    steps = np.concatenate([np.ones(TASKS), -np.ones(TASKS)])
    order = np.argsort(moments, kind="stable")
    number, length = np.cumsum(steps[order])[:-1], np.diff(moments[order])
    mean_number = float((number * length).sum() / moments.max())
    rate_seen = TASKS / moments.max()
    assert number.min() >= 0
    assert mean_number == pytest.approx(rate_seen * float(columns.latency_s.mean()), rel=1e-9)
    # And against theory: rho / (1 - rho) tasks are there on average, each for 1 / (mu - lambda) seconds.
    latency = batch_means(columns.latency_s)
    assert latency.holds(1.0 / (1.0 - RATE))
    assert mean_number == pytest.approx(RATE / (1.0 - RATE), rel=NARROW)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cpu_is_busy_for_the_offered_load(seed: int) -> None:
    columns = run(tasks(arrivals(seed, RATE), exponential_service(seed, 1.0)), "cpu_only")
    assert columns.busy_s()[0] / columns.finish_s.max() == pytest.approx(RATE, rel=0.01)


def test_the_intervals_would_notice_a_queue_that_forgets_one_task_in_twenty() -> None:
    """The test of the tests: a stream that lost 5 % of its load is outside every interval."""
    thinner = run(tasks(arrivals(1, RATE * 0.95), exponential_service(1, 1.0)), "cpu_only")
    assert not batch_means(thinner.wait_s).holds(RATE / (1.0 - RATE))
