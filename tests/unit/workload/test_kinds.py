"""Kinds of work: Zipf popularity, a mean intensity each, and no other draw is touched by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import TaskStream, WorkloadParameters, generate, load, write_csv

from .comparing import COLUMNS, DATA, fingerprint

PLAIN = WorkloadParameters(num_tasks=6000, noise_sigma=0.2, dependency_probability=0.1)
KINDS = PLAIN.with_values({"kinds": 12})


def test_kinds_change_no_column_but_their_own_and_the_intensity() -> None:
    without, with_kinds = generate(PLAIN, 3), generate(KINDS, 3)
    for name in COLUMNS:
        same = np.array_equal(getattr(without, name), getattr(with_kinds, name), equal_nan=True)
        assert same == (name != "compute_intensity"), name
    assert set(without.kind.tolist()) == {0}


def test_the_second_kind_is_half_as_frequent_as_the_first() -> None:
    batch = generate(KINDS, 3)
    counts = np.bincount(batch.kind, minlength=13)
    assert counts[0] == 0
    assert counts[2] / counts[1] == pytest.approx(0.5, rel=0.1)
    assert counts[12] / counts[1] == pytest.approx(1 / 12, rel=0.3)
    assert batch.task(0).kind == batch.kind_names[batch.kind[0]]


def test_tasks_of_a_kind_have_nearly_one_intensity_and_kinds_differ() -> None:
    batch = generate(KINDS, 3)
    means = [batch.compute_intensity[batch.kind == code].mean() for code in range(1, 13)]
    within = [batch.compute_intensity[batch.kind == code].std() for code in range(1, 13)]
    assert max(within) < 0.06
    assert np.std(means) > 0.2


def test_the_same_kinds_come_in_chunks_of_any_size_and_after_a_checkpoint() -> None:
    whole, stream = generate(KINDS, 5), TaskStream(KINDS, 5)
    first = stream.next_chunk(700)
    again = TaskStream(WorkloadParameters(), 0)
    again.restore(stream.capture())
    rest = again.next_chunk(5300)
    assert np.array_equal(whole.kind, np.concatenate([first.kind, rest.kind]))
    assert np.array_equal(whole.compute_intensity, np.concatenate([first.compute_intensity, rest.compute_intensity]))


def test_a_plan_without_kinds_reads_as_before_there_were_any() -> None:
    assert "kinds" not in PLAIN.to_mapping()
    assert KINDS.to_mapping()["kinds"] == 12
    assert fingerprint(generate(WorkloadParameters().with_values(KINDS.to_mapping()), 1)) == fingerprint(
        generate(KINDS, 1)
    )


@pytest.mark.parametrize("wrong", [-1, 1.5, 10_001, True])
def test_a_number_of_kinds_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(PlanError, match=r"workload\.kinds"):
        PLAIN.with_values({"kinds": wrong})


def _kinds_of(name: str) -> set[str]:
    batch = load(DATA / name, node=Node.uniform(8))
    return {batch.kind_names[code] for code in batch.kind.tolist()}


def test_every_reader_says_what_sort_of_work_a_task_is(tmp_path: Path) -> None:
    assert _kinds_of("jobs.swf") == {"user 1", "user 2", "user 3"}
    assert _kinds_of("openb_pods.csv") == {"no GPU, BE", "V100M32|A10, LS", "any GPU, LS"}
    assert _kinds_of("philly.csv") == {"aaaaaa", "bbbbbb", "cccccc"}
    assert _kinds_of("workflow.json") == {"fork", "left", "right", "join"}
    requests = tmp_path / "AzureLLMInferenceTrace_code.csv"
    requests.write_bytes((DATA / "azure_llm.csv").read_bytes())
    batch = load(requests)
    assert set(batch.kind_names) == {"", "code"}


def test_a_job_log_tells_what_was_requested_beforehand() -> None:
    requested = load(DATA / "jobs.swf").requested_time
    assert (~np.isnan(requested)).any()


def test_requested_times_survive_the_own_csv(tmp_path: Path) -> None:
    batch = load(DATA / "jobs.swf")
    write_csv(batch, tmp_path / "jobs.csv")
    assert np.array_equal(load(tmp_path / "jobs.csv").requested_time, batch.requested_time, equal_nan=True)
