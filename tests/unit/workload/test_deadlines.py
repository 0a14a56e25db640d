"""Deadlines: drawn where a workload asks for them, kept in files, and counted in the summary of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import run_batch, summarize
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.rules.earliest import EarliestFinish
from hybrid_ml_scheduler.workload import TaskStream, generate, load, preset, resolve, write_csv

DUE = preset("mixed").with_values({"num_tasks": 50, "deadline_slack": 2.0})


def test_a_slack_gives_every_task_a_deadline_and_changes_nothing_else(tmp_path: Path) -> None:
    due, free = generate(DUE, 3), generate(preset("mixed").with_values({"num_tasks": 50}), 3)
    assert np.all(due.deadline > 0.0)
    assert np.all(np.isnan(free.deadline))
    assert np.array_equal(due.size, free.size)
    stream = TaskStream(DUE, 3)
    chunks = [stream.next_chunk(20), stream.next_chunk(30)]
    assert np.array_equal(np.concatenate([chunk.deadline for chunk in chunks]), due.deadline)
    write_csv(due, tmp_path / "due.csv")
    assert np.array_equal(load(tmp_path / "due.csv").deadline, due.deadline)


def test_the_share_of_tasks_in_time_is_that_of_those_with_a_deadline() -> None:
    batch = generate(DUE, 3)
    columns = run_batch(batch, Node(), EarliestFinish().rule(batch))
    deadline = batch.deadline.copy()
    deadline[::2] = math.nan
    expected = np.mean(columns.latency_s[1::2] <= deadline[1::2])
    assert summarize(columns, deadline_s=deadline).within_deadline == expected
    assert math.isnan(summarize(columns).within_deadline)


def test_a_slack_below_zero_is_refused_in_a_sentence() -> None:
    with pytest.raises(PlanError, match=r"workload.deadline_slack = -1 must be a finite number within \[0, 1e\+06\]"):
        preset("mixed").with_values({"deadline_slack": -1})


def test_a_promise_makes_every_task_due_but_those_with_a_deadline_of_their_own(tmp_path: Path) -> None:
    promised = generate(preset("mixed").with_values({"num_tasks": 50, "slo_s": 1.5}), 3)
    free = generate(preset("mixed").with_values({"num_tasks": 50}), 3)
    assert set(promised.deadline.tolist()) == {1.5}
    assert np.array_equal(promised.size, free.size)
    both = generate(DUE.with_values({"slo_s": 1.5}), 3)
    assert np.array_equal(both.deadline, generate(DUE, 3).deadline)
    deadline = np.where(np.arange(50) % 2 == 0, math.nan, 0.25)
    write_csv(replace(free, deadline=deadline), tmp_path / "some.csv")
    read = resolve(tmp_path / "some.csv", values={"slo_s": 1.5})
    assert read.deadline.tolist() == [1.5, 0.25] * 25
    assert any(note.startswith("slo: ") and "1.5 s" in note for note in read.assumptions)


def test_a_plan_without_a_promise_keeps_its_digest_and_a_wrong_one_is_refused() -> None:
    assert "slo_s" not in preset("mixed").to_mapping()
    assert preset("mixed").with_values({"slo_s": 2.0}).to_mapping()["slo_s"] == 2.0
    with pytest.raises(PlanError, match=r"workload.slo_s = -1 must be a finite number within \[0, 1e\+12\]"):
        preset("mixed").with_values({"slo_s": -1})
