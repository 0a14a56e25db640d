"""The figures of every window: those of counting its rows again, also after a checkpoint and with late outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.core.ranges import BUCKETS, packed_counts, percentile_of, unpacked_counts
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.live.tally import bucket_of
from hybrid_ml_scheduler.live.windows import LATEST, Span
from hybrid_ml_scheduler.physics import MemoryRule, Node
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.spelled import spelled_out

STRATEGIES = ("greedy", "random", "earliest_finish")
DUE = {1290: 1e9, 1291: 1e-9}  # the tasks from outside and their deadlines: one is kept, the other cannot be


def new_race(**laws: float) -> Race:
    workload = preset("mixed").with_values(laws)
    node = Node(memory_rule=MemoryRule.FAIL)
    course = Course(seed=5, node=node, preset="mixed", workload=workload, schedulers=STRATEGIES)
    return Race(course, run_id=1, first_task_id=40)


def go(race: Race, tasks: int) -> None:
    until = race.next_task_id + tasks
    while race.next_task_id < until:
        race.advance(min(24, until - race.next_task_id))


def lived(race: Race) -> Race:
    """A run with two shifts behind it, the last one longer ago than the latest tasks reach."""
    go(race, 300)
    laws = {"dependency_probability": race.workload.dependency_probability, "memory_range": (10.0, 12_000.0)}
    race.shift("heavy", preset("heavy").with_values(laws), at=0.0)
    go(race, 250)
    race.shift("mixed", race.workload.with_values({"arrival_rate": 9.0}), at=0.0)
    go(race, 700)
    whole = Task(0, 500.0, 0.3, 10.0, 0.0, divisible=False)  # greedy and random want to cut it
    for task, deadline_s in zip((whole, whole._replace(divisible=True)), DUE.values(), strict=True):
        race.admit(task._replace(deadline=deadline_s), 0.0)
    go(race, 598)
    return race


def within(outcomes: Sequence[Outcome], span: Span) -> list[Outcome]:
    return [one for one in outcomes if span.first_task <= one.task_id <= span.last_task]


def recount(race: Race, outcomes: Sequence[tuple[str, Outcome]], labels: dict[int, float]) -> None:
    """Hold every figure of every window against the rows."""
    spans = {span.name: span for span in race.windows.spans()}
    assert spans["latest"].tasks == LATEST
    assert spans["shift"].first_task == 40 + 550
    for racer in race.racers:
        own = [one for name, one in outcomes if name == racer.name]
        for span in spans.values():
            mine = within(own, span)
            done = [one for one in mine if not one.failed]
            found = racer.tally.over(span)
            assert found.tasks == len(done) > 0
            assert found.failed == len(mine) - len(done)
            assert found.out_of_memory == sum(one.out_of_memory for one in mine)
            assert found.rounded == sum(one.rounded for one in mine) == (racer.name != "earliest_finish")
            assert found.cpu + found.gpu + found.split == len(done)
            assert found.split == sum(one.gpu >= 0 and one.cpu_s > 0.0 for one in done)
            for name in ("latency_s", "wait_s", "energy_j", "cost_usd", "cpu_s", "gpu_s", "gpu_fraction"):
                wanted = math.fsum(getattr(one, name) for one in done)
                assert getattr(found, name) == pytest.approx(wanted, rel=1e-10, abs=1e-9), (span.name, name)
            assert found.time_s == pytest.approx(math.fsum(one.execution_s for one in done), rel=1e-10)
            assert found.finish_s == max(one.finish_s for one in done)
            latencies = [one.latency_s for one in done]
            exact = span.tasks <= LATEST
            tail = (found.p95_latency_s, found.p99_9_latency_s, found.longest_latency_s)
            assert tail == pytest.approx(np.percentile(latencies, (95, 99.9, 100)), rel=1e-12 if exact else 0.02)
            slowdowns = [one.latency_s / max(labels[one.task_id], 0.01) for one in done]
            assert found.slowdown == pytest.approx(math.fsum(slowdowns), rel=1e-10)
            assert found.longest_slowdown == pytest.approx(max(slowdowns), rel=1e-12)
            due = [one for one in mine if one.task_id in DUE]
            assert found.due == len(due) == len(DUE)
            assert found.in_time == sum(one.latency_s <= DUE[one.task_id] for one in due)
            assert span.oracle_s == pytest.approx(
                math.fsum(labels[task] for task in range(span.first_task, span.last_task + 1)), rel=1e-10
            )


@pytest.mark.parametrize("dependent", [0.0, 0.3])
def test_every_figure_of_every_window_is_that_of_counting_the_rows(dependent: float) -> None:
    race = lived(new_race(dependency_probability=dependent))
    rows = spelled_out(race.take_rows())
    recount(race, rows.outcomes, {label.task.task_id: label.execution_s for label in rows.labels})


def test_a_run_brought_back_from_a_checkpoint_counts_on_as_if_nothing_had_happened() -> None:
    whole, first, second = new_race(), new_race(), new_race()
    lived(whole)
    lived(first)
    second.restore(unpack_state(bytes(pack_state(first.capture()))))
    for race in (whole, second):
        go(race, 700)
        race.shift("light", preset("light"), at=0.0)
        go(race, 30)
    assert second.windows.spans() == whole.windows.spans()
    for mine, other in zip(second.racers, whole.racers, strict=True):
        np.testing.assert_equal(mine.tally.capture(), other.tally.capture())


def test_without_a_shift_there_is_no_window_since_one_and_before_the_first_task_all_are_empty() -> None:
    race = new_race()
    assert [(span.name, span.tasks) for span in race.windows.spans()] == [("run", 0), ("latest", 0)]
    assert race.racers[0].tally.over(race.windows.spans()[0]).mean(1.0) is None
    go(race, 5)
    race.shift("heavy", preset("heavy"), at=0.0)
    assert [span.name for span in race.windows.spans()] == ["run", "latest"]
    race.step()
    assert [(span.name, span.tasks) for span in race.windows.spans()] == [("run", 6), ("shift", 1), ("latest", 6)]


def test_a_percentile_from_counts_is_within_half_a_per_cent_of_the_number_of_its_rank() -> None:
    values = np.sort(np.random.default_rng(3).lognormal(-2.0, 3.0, 5000))
    counts = np.bincount([bucket_of(value) for value in values], minlength=BUCKETS)
    for percent in (1.0, 50.0, 95.0, 99.9):
        wanted = values[math.floor(percent / 100 * (len(values) - 1))]
        assert percentile_of(counts, percent) == pytest.approx(wanted, rel=0.005)
    np.testing.assert_array_equal(unpacked_counts(packed_counts(counts)), counts)
    assert percentile_of(np.zeros(BUCKETS, dtype=np.int64), 95.0) is None
    assert [bucket_of(value) for value in (0.0, 1e-9, 1e12)] == [0, 0, BUCKETS - 1]
