"""The queues of a node as the stored parts tell them, held against a plain reading of the same rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hybrid_ml_scheduler.storage import ResultRow, Store, parts_around_now, write_batch
from tests.contracts.storage import samples

STEPS = 20


def _moments(row: ResultRow) -> list[tuple[float, int]]:
    """When parts of a task join the queues, and when they leave them."""
    begins = [(row.cpu_start, row.cpu_part), (row.gpu_start, row.gpu_part)]
    begun = [start for start, seconds in begins if start is not None and seconds]
    assert row.ready_time is not None
    return [(row.ready_time, len(begun)), *((start, -1) for start in begun)]


async def test_changes_of_the_queues_are_those_of_the_rows_in_every_step(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 300)
    await write_batch(store, batch)
    found = await parts_around_now(store, run_id=run_id, schedulers=("greedy", "oracle"), seconds=25.0, steps=STEPS)
    assert found.now_s == 299 / 6
    edges = np.linspace(found.now_s - 25.0, found.now_s, STEPS + 1)
    for name in ("greedy", "oracle"):
        moments = [one for row in batch.results if row.scheduler_name == name for one in _moments(row)]
        expected = [sum(n for at, n in moments if begin < at <= end) for begin, end in pairwise(edges)]
        known = {row.step: row.joined for row in found.changes if row.scheduler_name == name}
        assert [known.get(step, 0) for step in range(1, STEPS + 1)] == expected
        assert any(expected)
