"""What was believed beside what happened."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.cluster.belief_record import MEMORY, BeliefRecord


def test_means_are_of_the_tasks_and_old_ones_fade() -> None:
    record = BeliefRecord()
    record.add("encode", 0, 1.0, 2.0)
    record.add("encode", 0, 1.0, 0.5)
    cell = record.cells()["encode", 0]
    assert cell.runs == 2
    assert cell.believed == cell.happened == pytest.approx(1.0)  # twice and half cancel each other out
    assert cell.error == pytest.approx(1.0)  # and yet every task was off by a factor of two
    for _ in range(10 * MEMORY):
        record.add("encode", 0, 2.0, 2.0)
    cell = record.cells()["encode", 0]
    assert cell.happened == pytest.approx(2.0, rel=1e-3)
    assert cell.error < 1e-3


def test_a_part_that_there_was_not_teaches_nothing_and_a_record_is_restored_as_it_was() -> None:
    record, again = BeliefRecord(), BeliefRecord()
    record.add("encode", 1, 0.0, 2.0)
    assert record.cells() == {}
    record.add("decode", 1, 1.5, 3.0)
    again.restore({"record": record.capture()})
    assert again.cells() == record.cells()
    again.restore({"record": BeliefRecord().capture()})
    assert again.cells() == {}
