"""The tasks around a change, held against a plain reading of the same rows."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.storage import Store, around_change, write_batch
from tests.contracts.storage import samples


async def test_regret_around_a_change_is_that_of_the_rows_and_stops_where_the_next_one_begins(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 400)
    await write_batch(store, batch)
    found = await around_change(store, run_id=run_id, boundary=150, most_tasks=1000, until=350)
    assert (found.width, found.last_task) == (5, 349)
    fastest = {row.task_id: row.optimal_time for row in batch.training}
    for name in samples.SCHEDULERS:
        for step in (-10, -1, 0, 17, 39):
            ids = range(150 + 5 * step, 155 + 5 * step)
            rows = [row for row in batch.results if row.scheduler_name == name and row.task_id in ids]
            told = [row for row in found.rows if (row.scheduler_name, row.step) == (name, step)]
            assert [one.tasks for one in told] == [5]
            assert told[0].latency_s == pytest.approx(sum(row.latency or 0.0 for row in rows))
            assert told[0].fastest_s == pytest.approx(sum(fastest[row.task_id] for row in rows))
    assert sorted(found.ends_s) == list(range(-10, 40))
    assert found.ends_s[0] == 154 / 6


async def test_a_change_before_which_nothing_ran_and_after_which_nothing_came_has_no_rows(store: Store) -> None:
    run_id = await samples.new_run(store)
    assert (await around_change(store, run_id=run_id, boundary=0, most_tasks=100, until=None)).rows == ()
    await write_batch(store, samples.batch(run_id, 0, 20))
    assert (await around_change(store, run_id=run_id, boundary=20, most_tasks=100, until=None)).rows == ()
    first = await around_change(store, run_id=run_id, boundary=0, most_tasks=100, until=None)
    assert min(row.step for row in first.rows) == 0
