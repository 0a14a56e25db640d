"""The compiled form at its door, and the metrics of what it did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import RunColumns, run_batch, summarize
from hybrid_ml_scheduler.core import BatchRule, RuleKind, TaskBatch
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.physics import Cpu, Gpu, MemoryRule, Node, Tariff, durations


def seconds_long(*arrivals: float, **columns: Any) -> TaskBatch:
    """Tasks of one second on the CPU and 0.4 seconds on a GPU."""
    count = len(arrivals)
    plain: dict[str, Any] = {
        "size": [1000.0] * count,
        "compute_intensity": [0.5] * count,
        "memory_required": [0.0] * count,
        "arrival_time": arrivals,
    }
    return TaskBatch.from_columns(**{**plain, **columns})


def shares(*fractions: float, gpus: list[int] | None = None) -> BatchRule:
    return BatchRule(
        kind=RuleKind.PRESCRIBED,
        fractions=np.array(fractions),
        gpus=None if gpus is None else np.array(gpus, dtype=np.int64),
    )


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (shares(0.5), "one share"),
        (shares(0.5, 1.5), "share outside"),
        (shares(-0.5, 0.5), "share outside"),
        (shares(math.nan, 0.5), "share outside"),
        (shares(1.0, 1.0, gpus=[0, 4]), "names a GPU that does not exist"),
        (shares(1.0, 1.0, gpus=[-2, 0]), "names a GPU that does not exist"),
        (shares(1.0, 1.0, gpus=[0]), "one share"),
        (BatchRule(kind=RuleKind.PRESCRIBED), "one share"),
        (BatchRule(kind=RuleKind.FASTEST_SPLIT), "grid"),
        (BatchRule(kind=RuleKind.LEAST_CHARGE, grid=(0.5, 1.0)), "grid"),
        (BatchRule(kind=RuleKind.LEAST_CHARGE, grid=(0.0, 1.5)), "grid"),
        (BatchRule(kind=RuleKind.LEAST_CHARGE, grid=(0.0, 0.9, 0.5)), "grid"),
    ],
)
@pytest.mark.parametrize("duration_factor", [1.0, 2.0])
def test_a_rule_that_would_leave_its_columns_is_refused(rule: BatchRule, sentence: str, duration_factor: float) -> None:
    with pytest.raises(SchedulerError, match=sentence):
        run_batch(seconds_long(0.0, 0.0, duration_factor=[duration_factor, 1.0]), Node(), rule)


@pytest.mark.parametrize("columns", [{"duration_factor": [2.0, 1.0]}, {"dependencies": [[], [0]]}])
def test_chunks_of_a_graph_or_with_luck_are_refused_rather_than_run_wrongly(columns: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="independent"):
        run_batch(seconds_long(0.0, 0.0, **columns), Node(), shares(0.0, 0.0), free_s=np.zeros(5))


def test_the_state_of_the_devices_is_handed_on() -> None:
    free = np.array([3.0, 0.0, 9.0, 9.0, 9.0])
    columns = run_batch(seconds_long(0.0, 0.0), Node(), shares(0.0, 1.0), free_s=free)
    assert columns.finish_s.tolist() == [4.0, 0.4]
    assert free.tolist() == [4.0, 0.4, 9.0, 9.0, 9.0]


def test_room_and_durations_can_be_used_again() -> None:
    batch, node = seconds_long(0.0, 0.5), Node()
    room, known = RunColumns.empty(batch, node), durations(batch, node)
    first = run_batch(batch, node, shares(0.0, 0.0), seconds=known, into=room)
    assert first is room
    assert first.finish_s.tolist() == [1.0, 2.0]
    assert run_batch(batch, node, shares(1.0, 1.0), seconds=known, into=room).finish_s.tolist() == [0.4, 0.9]


def test_an_unnamed_gpu_is_the_least_loaded_one() -> None:
    columns = run_batch(seconds_long(0.0, 0.0, 0.0), Node(), shares(1.0, 1.0, 1.0, gpus=[-1, 3, -1]))
    assert columns.gpu.tolist() == [0, 3, 1]


def test_the_parts_of_a_task_are_intervals_on_devices() -> None:
    columns = run_batch(seconds_long(0.0, 0.0), Node(), shares(0.5, 0.0))
    assert columns.parts(0) == [("cpu", 0.0, 0.5), ("gpu_0", 0.0, 0.2)]
    assert columns.parts(1) == [("cpu", 0.5, 1.5)]


def test_outcomes_of_the_stepping_form_gather_into_the_same_columns() -> None:
    batch = seconds_long(0.0, 0.0, 0.1, memory_required=[0.0, 9000.0, 0.0], dependencies=[[], [], [1]])
    node = Node(memory_rule=MemoryRule.FAIL)
    kernel = run_batch(batch, node, shares(0.5, 1.0, 0.0))
    outcomes = kernel.outcomes(batch.task_id, Tariff(node))
    again = RunColumns.from_outcomes(batch, node, [outcomes[row] for row in (2, 0, 1)])
    for name in ("gpu_fraction", "gpu", "ready_s", "cpu_start_s", "finish_s", "cpu_s", "gpu_s", "status"):
        np.testing.assert_array_equal(getattr(again, name), getattr(kernel, name))
    assert kernel.status.tolist() == [0, 2, 3]


class TestSummary:
    """Metrics of three tasks, worked out by hand."""

    node = Node(cpu=Cpu(idle_power_w=10.0), gpus=(Gpu(), Gpu(idle_power_w=5.0)))

    def test_means_percentiles_and_totals(self) -> None:
        # CPU: 0 to 1 and 1 to 2; GPU 0: 0.5 to 0.9.
        summary = summarize(run_batch(seconds_long(0.0, 0.25, 0.5), self.node, shares(0.0, 0.0, 1.0)))
        assert summary.tasks == 3
        assert summary.makespan_s == 2.0
        assert summary.mean_time_s == pytest.approx((1.0 + 1.0 + 0.4) / 3)
        assert summary.mean_latency_s == pytest.approx((1.0 + 1.75 + 0.4) / 3)
        assert summary.p50_latency_s == 1.0
        assert summary.p99_latency_s == pytest.approx(1.0 + 0.98 * 0.75)
        assert summary.mean_wait_s == pytest.approx(0.25)
        assert summary.device_seconds == pytest.approx(2.4)
        assert summary.throughput == 1.5
        assert summary.energy_j == pytest.approx(2.0 * 30 + 0.4 * 50 + summary.idle_energy_j)
        assert summary.idle_energy_j == pytest.approx(0.0 * 10 + 2.0 * 5)
        assert summary.cost_usd == summary.rental_usd == pytest.approx(2.0 * 0.00002 + 0.4 * 0.0001)
        assert summary.utilization == {"cpu": 1.0, "gpu_0": pytest.approx(0.2), "gpu_1": 0.0}
        assert summary.mean_queue_length == pytest.approx((1.0 + 1.75 + 0.4) / 2.0)

    def test_a_task_that_waits_for_its_parent_stands_in_no_queue(self) -> None:
        summary = summarize(run_batch(seconds_long(0.0, 0.0, dependencies=[[], [0]]), Node(), shares(0.0, 0.0)))
        assert summary.makespan_s == 2.0
        assert summary.mean_queue_length == 1.0
        assert summary.mean_latency_s == 1.5
        assert summary.mean_wait_s == 0.0

    def test_a_failed_task_counts_in_no_mean(self) -> None:
        node = Node(memory_rule=MemoryRule.FAIL)
        summary = summarize(run_batch(seconds_long(0.0, 0.0, memory_required=[9000.0, 0.0]), node, shares(1.0, 0.0)))
        assert (summary.failed_count, summary.oom_count) == (1, 1)
        assert summary.mean_latency_s == summary.mean_time_s == 1.0
        assert summary.throughput == 1.0
        assert summary.gap(0.5) is None

    def test_a_run_where_everything_failed_has_no_means(self) -> None:
        node = Node(memory_rule=MemoryRule.FAIL)
        summary = summarize(run_batch(seconds_long(0.0, memory_required=[9000.0]), node, shares(1.0)))
        assert summary.failed_count == 1
        assert math.isnan(summary.mean_latency_s)
        assert summary.makespan_s == summary.throughput == summary.energy_j == 0.0

    def test_the_gap_is_how_far_the_makespan_lies_above_the_bound(self) -> None:
        summary = summarize(run_batch(seconds_long(0.0), Node(), shares(0.0)))
        assert summary.gap(0.8) == pytest.approx(0.25)

    def test_a_task_that_fell_back_or_paged_is_counted(self) -> None:
        for rule in (MemoryRule.CPU, MemoryRule.PAGE):
            batch = seconds_long(0.0, 0.0, memory_required=[9000.0, 0.0])
            assert summarize(run_batch(batch, Node(memory_rule=rule), shares(1.0, 1.0))).oom_count == 1
