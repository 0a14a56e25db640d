"""What is known of a measured task beforehand: its request or the past, never its own time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Gpu, Node
from hybrid_ml_scheduler.workload import generate, load, preset
from hybrid_ml_scheduler.workload.nominal import GUESS_S, known_beforehand, knows_scale, nominal_sentence

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


def test_a_task_without_a_request_takes_a_minute_whatever_any_task_took() -> None:
    seen = known_beforehand(measured([4.0, 10.0, 6.0, 20.0, 1.0], [1, 2, 1, 1, 2]))
    assert seen.cpu_time.tolist() == [GUESS_S] * 5
    assert not knows_scale(measured([4.0, 10.0], [1, 2]))


def test_a_request_counts_and_else_the_mean_request_of_earlier_tasks_of_the_kind_then_of_all() -> None:
    nothing = float("nan")
    batch = measured([4.0, 10.0, 6.0, 20.0, 1.0, 2.0], [1, 1, 2, 1, 1, 2], [nothing, 5.0, nothing, 7.0, nothing, 9.0])
    assert known_beforehand(batch).cpu_time.tolist() == pytest.approx([GUESS_S, 5.0, 5.0, 7.0, 6.0, 9.0])
    assert knows_scale(batch)


def test_of_a_task_with_seconds_by_type_only_the_first_named_type_is_seen_to_take_a_minute() -> None:
    batch = load(
        DATA / "gavel.trace",
        options={"throughputs": str(DATA / "gavel_throughputs.json")},
        node=Node(gpus=(Gpu(type="v100"),) * 8),
    )
    seen = known_beforehand(batch)
    assert seen.gpu_types == batch.gpu_types[:1]
    assert seen.gpu_times.tolist() == [[GUESS_S]] * len(batch)
    assert len(set(seen.gpu_times.ravel().tolist())) < len(set(batch.gpu_times.ravel().tolist()))


def test_no_true_time_is_visible_in_any_column() -> None:
    batch = load(DATA / "jobs.swf")
    batch = replace(batch, requested_time=np.full(len(batch), np.nan))
    one, two = known_beforehand(batch), known_beforehand(replace(batch, cpu_time=batch.cpu_time * 7.0))
    for name in ("size", "cpu_time", "gpu_time", "speedup_factor"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True), name


def test_a_batch_as_strategies_see_it_has_no_noise_and_no_notes() -> None:
    batch = generate(preset("light").with_values({"num_tasks": 10, "noise_sigma": 0.3}), 0)
    assert batch.is_noisy
    seen = replace(batch, assumptions=("a note",)).visible
    assert not seen.is_noisy
    assert seen.assumptions == ()
    assert seen.size.tolist() == batch.size.tolist()


def test_generated_tasks_are_seen_as_they_are() -> None:
    batch = generate(preset("light").with_values({"num_tasks": 10}), 0)
    assert known_beforehand(batch) is batch


def test_words_say_what_stands_for_the_truth() -> None:
    assert "requested" in nominal_sentence(load(DATA / "jobs.swf"))
    assert "mean of the tasks of its kind (2 kinds) that have finished" in nominal_sentence(
        measured([1.0, 2.0], [1, 2])
    )
