from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.workload import PRESETS, TaskStream, WorkloadParameters, generate
from tests.unit.workload.comparing import COLUMNS, fingerprint

LAWS = [
    *PRESETS.values(),
    WorkloadParameters(size_law="lognormal", arrival_law="batch", noise_sigma=0.3),
    WorkloadParameters(dependency_probability=0.7, noise_sigma=0.1),
    WorkloadParameters(dependency_probability=1.0, max_parents=5, parent_window=6),
]

GOLDEN: dict[str, list[float]] = {
    "size": [108.92958656400633, 103.97423841945681, 120.17473384657941],
    "compute_intensity": [0.12153193644961242, 1.0, 0.014316654768417286],
    "memory_required": [10.0, 10.0, 19.46335770255266],
    "arrival_time": [0.05217930675917462, 0.21450210844871337, 0.2833125510412971],
    "parent_offsets": [0, 0, 1, 3],
    "parent_ids": [0, 0, 1],
}


def joined(parts: list[TaskBatch]) -> dict[str, bytes]:
    """The bytes of batches laid end to end (offsets become numbers of parents)."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    columns["parent_offsets"] = np.concatenate([np.diff(part.parent_offsets) for part in parts])
    return {name: column.tobytes() for name, column in columns.items()}


@pytest.mark.parametrize("law", LAWS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(law: WorkloadParameters) -> None:
    assert fingerprint(generate(law, 5)) == fingerprint(generate(law, 5))
    assert fingerprint(generate(law, 5)) != fingerprint(generate(law, 6))


@settings(deadline=None, max_examples=60)
@given(
    law=st.sampled_from(LAWS),
    seed=st.integers(0, 2**63),
    chunks=st.lists(st.integers(0, 90), min_size=1, max_size=8).filter(any),
)
def test_chunks_of_any_size_are_the_beginning_of_the_generated_batch(
    law: WorkloadParameters, seed: int, chunks: list[int]
) -> None:
    tasks = TaskStream(law, seed)
    parts = [tasks.next_chunk(count) for count in chunks]
    whole = generate(law.with_values({"num_tasks": sum(chunks)}), seed)
    assert joined(parts) == joined([whole])


def test_single_tasks_are_those_of_the_batch_also_mixed_with_chunks() -> None:
    law = LAWS[-2].with_values({"num_tasks": 700})
    tasks = TaskStream(law, 3)
    single = [tasks.next_task() for _ in range(300)]
    assert tasks.next_task_id == 300
    chunk = tasks.next_chunk(100)
    single += [*chunk, *(tasks.next_task() for _ in range(300))]
    assert single == list(generate(law, 3))


def test_a_restored_stream_continues_byte_for_byte() -> None:
    law = LAWS[-2]
    tasks = TaskStream(law, 4)
    for _ in range(37):
        tasks.next_task()
    state = pickle.loads(pickle.dumps(tasks.capture()))
    ahead = fingerprint(tasks.next_chunk(200))
    other = TaskStream(PRESETS["light"], 99)
    other.restore(state)
    assert other.next_task_id == 37
    assert fingerprint(other.next_chunk(200)) == ahead


def test_a_shift_changes_the_laws_from_the_next_task_on_and_the_clock_continues() -> None:
    tasks = TaskStream(PRESETS["mixed"], 8)
    before = [tasks.next_task() for _ in range(10)]
    tasks.shift(PRESETS["cpu_friendly"])
    after = tasks.next_chunk(500)
    assert list(before) == list(generate(PRESETS["mixed"].with_values({"num_tasks": 10}), 8))
    assert after.task_id[0] == 10
    assert after.arrival_time[0] > before[-1].arrival_time
    assert after.size.max() <= 150.0
    assert after.memory_required.min() >= 4000.0
    assert tasks.parameters == PRESETS["cpu_friendly"]


def test_a_shifted_stream_is_independent_of_how_it_was_read() -> None:
    one, many = TaskStream(PRESETS["mixed"], 8), TaskStream(PRESETS["mixed"], 8)
    one.next_chunk(20)
    for _ in range(20):
        many.next_task()
    for tasks in (one, many):
        tasks.shift(PRESETS["heavy"].with_values({"dependency_probability": 0.5}))
    assert fingerprint(one.next_chunk(50)) == fingerprint(many.next_chunk(50))


def test_a_stream_that_starts_at_another_id_draws_the_same_tasks_and_no_parent_before_it() -> None:
    law = LAWS[-1].with_values({"num_tasks": 40})
    moved = TaskStream(law, 2, first_task_id=1000).next_chunk(40)
    plain = generate(law, 2)
    assert (moved.task_id == plain.task_id + 1000).all()
    assert (moved.parent_ids == plain.parent_ids + 1000).all()
    assert moved.size.tobytes() == plain.size.tobytes()


def test_the_state_of_a_stream_does_not_grow() -> None:
    tasks = TaskStream(LAWS[-2], 1)
    tasks.next_chunk(10)
    early = len(pickle.dumps(tasks.capture()))
    tasks.next_chunk(100_000)
    assert len(pickle.dumps(tasks.capture())) < early + 64


def test_the_first_tasks_of_a_seed_stay_what_they_were() -> None:
    """Stored runs name only preset and seed, so these figures must never change."""
    batch = generate(PRESETS["mixed"].with_values({"num_tasks": 3, "dependency_probability": 0.9}), 42)
    for name, values in GOLDEN.items():
        assert np.allclose(getattr(batch, name), values, rtol=1e-12, atol=0.0), name
