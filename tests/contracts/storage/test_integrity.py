"""A full check knows what was half stored from what nobody could have decided yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hybrid_ml_scheduler.storage import RowBatch, Store, TaskRow, integrity, write_batch
from tests.contracts.storage import samples

CLOCK_S = 9 / 6  # the arrival of the tenth task of the samples
NAMES = ("greedy", "random")


@pytest.fixture
async def run_id(store: Store) -> int:
    """A run of ten tasks of the stream with two strategies, all decided."""
    begun = await samples.new_run(store)
    await write_batch(store, samples.batch(begun, 0, 10, schedulers=NAMES))
    return begun


def later(run_id: int, task_id: int, arrival_s: float, parents: str = "[]") -> TaskRow:
    return samples.task(run_id, task_id)._replace(arrival_time=arrival_s, dependencies=parents)


async def enter(store: Store, row: TaskRow, *, is_foreign: bool = True) -> None:
    """Store a task without any result."""
    events = [samples.admitted(row)] if is_foreign else []
    await write_batch(store, RowBatch(tasks=[row], training=[samples.label(row.task_id)], events=events))


async def test_a_foreign_task_that_arrives_after_the_clock_is_no_fault(store: Store, run_id: int) -> None:
    await enter(store, later(run_id, 10, CLOCK_S + 100))
    found = await integrity(store)
    assert (found.whole, found.undecided, found.incomplete_tasks) == (True, 1, [])
    await samples.new_run(store)
    assert (await integrity(store)).whole, "it stays undecided when its run has ended"


async def test_a_run_of_nothing_but_later_tasks_is_whole(store: Store) -> None:
    await enter(store, later(await samples.new_run(store), 0, 100.0))
    found = await integrity(store)
    assert (found.whole, found.undecided) == (True, 1)


@pytest.mark.parametrize(("arrival_s", "is_foreign"), [(CLOCK_S + 100, False), (CLOCK_S, True)])
async def test_a_task_that_must_have_been_decided_is_incomplete(
    store: Store, run_id: int, arrival_s: float, is_foreign: bool
) -> None:
    await enter(store, later(run_id, 10, arrival_s), is_foreign=is_foreign)
    found = await integrity(store)
    assert (found.whole, found.undecided, found.incomplete_tasks) == (False, 0, [10])


async def test_the_clock_of_another_run_does_not_count(store: Store, run_id: int) -> None:
    other = await samples.new_run(store)
    await write_batch(store, samples.batch(other, 10, 10, schedulers=NAMES))
    await enter(store, later(run_id, 20, CLOCK_S + 0.01))
    assert (await integrity(store)).undecided == 1


async def test_a_child_waits_for_its_parent_with_each_strategy_apart(store: Store, run_id: int) -> None:
    """With greedy the parent ends after the clock, with random before it."""
    ends_s = {"greedy": CLOCK_S + 1, "random": CLOCK_S - 0.5}
    parent, child, grandchild = (later(run_id, 10 + place, CLOCK_S, f"[{9 + place}]") for place in range(3))
    for row in (parent._replace(dependencies="[]"), child, grandchild):
        await enter(store, row)
    results = [samples.result(10, name)._replace(finish_time=end_s) for name, end_s in ends_s.items()]
    results += [samples.result(11, "random")._replace(finish_time=CLOCK_S + 5)]
    await write_batch(store, RowBatch(results=results))
    found = await integrity(store)
    assert (found.undecided, found.incomplete_tasks) == (2, [])
    moved = samples.batch(run_id, 13, 1, schedulers=NAMES)
    await write_batch(store, replace(moved, tasks=[later(run_id, 13, CLOCK_S + 2)]))
    found = await integrity(store)
    assert (found.undecided, found.incomplete_tasks) == (1, [11]), "the clock has passed the end of its parent"
