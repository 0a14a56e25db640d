"""The arena's rows on their way to the store, together or one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.recorder import Recorder
from hybrid_ml_scheduler.live.records import Rows
from hybrid_ml_scheduler.service.control.keeper import StoreKeeper, stored_rows
from hybrid_ml_scheduler.storage import RowBatch, StoreWriter
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.test_stretch import ALL, HIDDEN, NODES, RULES, go, new_race


def raced(name: str, most: int, laws: Mapping[str, float] | None = None) -> RowBatch:
    """What is stored of a race with tasks of every size, some of which fit no GPU."""
    race = new_race(NODES[name], laws=laws, schedulers=ALL if laws is None else RULES)
    go(race, 150, most)
    heavy = preset("heavy").with_values({"memory_range": (10.0, 20_000.0)}).with_values(laws or {})
    race.shift("heavy", heavy, at=0.0)
    go(race, 150, most)
    return stored_rows(race.take_rows())


def in_order(batch: RowBatch) -> RowBatch:
    whole = batch.spelled_out()
    return replace(
        whole,
        tasks=sorted(whole.tasks),
        results=sorted(whole.results, key=lambda row: row[:2]),
        training=sorted(whole.training),
    )


@pytest.mark.parametrize("name", NODES)
def test_tasks_taken_together_are_stored_with_the_very_rows_of_single_steps(name: str) -> None:
    together, single = raced(name, 32), raced(name, 1)
    assert len(together.blocks) == 1
    assert not single.blocks
    assert len(together) == len(single)
    assert in_order(together) == in_order(single)


def test_so_are_tasks_of_kinds_whose_durations_are_hidden() -> None:
    together, single = (raced("small memory, failing", most, HIDDEN) for most in (32, 1))
    assert {row.kind for row in together.spelled_out().tasks} >= {"kind-1", "kind-2"}
    assert in_order(together) == in_order(single)


def test_the_comparison_above_meets_failures() -> None:
    assert any(row.failed for row in raced("small memory, failing", 32).spelled_out().results)


def test_a_keeper_that_was_refused_says_so_at_once_however_much_it_holds() -> None:
    writer = StoreWriter("sqlite://", capacity_rows=10)
    keeper = StoreKeeper(writer)
    recorder = Recorder(keeper)
    writer.put(raced("small memory, failing", 1))
    assert (keeper.has_room(1), keeper.refusal, recorder.store_state) == (False, None, "ok")
    writer._fail("The store refused: no such table.")
    assert (keeper.has_room(1), keeper.is_up, keeper.refusal) == (True, False, "The store refused: no such table.")
    assert recorder.store_state == "refused"
    with pytest.raises(StorageError, match="no such table"):
        keeper.keep(Rows(run_id=1))
    recorder.close()
