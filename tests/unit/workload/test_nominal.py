"""What is known of a measured task beforehand: its request or the past, never its own time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.workload import generate, load, preset
from hybrid_ml_scheduler.workload.nominal import known_beforehand, nominal_sentence

from .comparing import DATA


def measured(times: list[float], kinds: list[int], requested: list[float] | None = None) -> TaskBatch:
    count = len(times)
    return TaskBatch.from_columns(
        size=np.ones(count),
        compute_intensity=np.full(count, 0.5),
        memory_required=np.zeros(count),
        arrival_time=np.arange(count),
        cpu_time=times,
        kind=kinds,
        kind_names=("", "a", "b"),
        requested_time=requested,
    )


def test_the_mean_of_earlier_tasks_of_the_kind_stands_for_a_measured_time() -> None:
    seen = known_beforehand(measured([4.0, 10.0, 6.0, 20.0, 1.0], [1, 2, 1, 1, 2]))
    assert seen.cpu_time.tolist() == pytest.approx([4.0, 4.0, 4.0, 5.0, 10.0])


def test_a_request_counts_before_the_past() -> None:
    seen = known_beforehand(measured([4.0, 10.0, 6.0], [1, 1, 1], [5.0, float("nan"), 7.0]))
    assert seen.cpu_time.tolist() == pytest.approx([5.0, 4.0, 7.0])


def test_no_later_time_and_not_its_own_is_visible_in_any_column() -> None:
    batch = load(DATA / "jobs.swf")
    later = np.array(batch.cpu_time)
    later[2:] *= 7.0
    other = replace(batch, cpu_time=later, requested_time=np.full(len(batch), np.nan))
    batch = replace(batch, requested_time=np.full(len(batch), np.nan))
    one, two = known_beforehand(batch), known_beforehand(other)
    for name in ("size", "cpu_time", "gpu_time", "speedup_factor"):
        assert np.array_equal(getattr(one, name)[:3], getattr(two, name)[:3], equal_nan=True), name
    assert not np.array_equal(one.size[3:], two.size[3:])


def test_generated_tasks_are_seen_as_they_are() -> None:
    batch = generate(preset("light").with_values({"num_tasks": 10}), 0)
    assert known_beforehand(batch) is batch


def test_words_say_what_stands_for_the_truth() -> None:
    assert "requested" in nominal_sentence(load(DATA / "jobs.swf"))
    assert "mean of earlier tasks of its kind (2 kinds)" in nominal_sentence(measured([1.0, 2.0], [1, 2]))
