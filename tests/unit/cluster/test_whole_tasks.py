"""Tasks that must not be cut run whole; rent and idle power count as the node says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import certificate, run_batch, summarize
from hybrid_ml_scheduler.core import HasRule, TaskBatch
from hybrid_ml_scheduler.physics import Cpu, Gpu, Node, best_execution_s, durations
from hybrid_ml_scheduler.physics.node import RentalOf
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.workload import generate, preset

SPLITTERS = ("greedy", "random", "oracle", "earliest_finish", "hybrid_ml", "frugal_finish", "round_robin")


def whole(count: int = 200) -> TaskBatch:
    batch = generate(preset("mixed").with_values({"num_tasks": count}), 5)
    return replace(batch, divisible=np.zeros(count, dtype=np.bool_))


@pytest.mark.parametrize("name", SPLITTERS)
def test_no_strategy_cuts_a_task_that_must_not_be_cut(name: str) -> None:
    columns = run_scheduler(create(name), whole(), Node(), seed=1)
    assert set(np.unique(columns.gpu_fraction)) <= {0.0, 1.0}
    assert not ((columns.cpu_s > 0.0) & (columns.gpu_s > 0.0)).any()


def test_a_split_goes_to_the_nearer_whole_device() -> None:
    batch = whole()
    columns = run_scheduler(create("greedy"), batch, Node(), seed=1)
    assert columns.gpu_fraction.tolist() == [1.0 if share >= 0.5 else 0.0 for share in batch.compute_intensity]


def test_the_best_whole_device_is_the_floor_and_the_label() -> None:
    batch, node = whole(), Node()
    seconds = durations(batch, node)
    fastest = np.minimum(seconds.cpu_s, seconds.on_gpu(0))
    assert best_execution_s(batch, node, seconds).tolist() == fastest.tolist()
    assert best_fractions(batch, node).tolist() == (seconds.on_gpu(0) < seconds.cpu_s).astype(float).tolist()
    divisible = replace(batch, divisible=np.ones(len(batch), dtype=np.bool_))
    assert certificate(batch, node).mean_time_s > certificate(divisible, node).mean_time_s


def test_a_bound_of_whole_tasks_is_met_where_one_device_holds_one_task() -> None:
    batch = TaskBatch.from_columns(
        size=[1000.0], compute_intensity=[0.5], memory_required=[9000.0], arrival_time=[0.0], divisible=[False]
    )
    node = Node()  # a GPU holds 8,000 MB, so that the CPU is the only device
    rule = create("oracle")
    assert isinstance(rule, HasRule)
    summary = summarize(run_batch(batch, node, rule.rule(batch)))
    assert summary.makespan_s == durations(batch, node).cpu_s[0]
    assert certificate(batch, node).makespan_s == pytest.approx(summary.makespan_s, rel=1e-9)


def test_rent_of_the_node_and_idle_power_count_in_the_headline() -> None:
    batch = generate(preset("mixed").with_values({"num_tasks": 50}), 0)
    busy = Node(cpu=Cpu(idle_power_w=10.0), gpus=(Gpu(idle_power_w=20.0),) * 2)
    plain = Node(gpus=(Gpu(),) * 2)
    rented = replace(busy, rental_of=RentalOf.NODE)
    found = [summarize(run_scheduler(create("gpu_only"), batch, node, seed=0)) for node in (plain, busy, rented)]
    first, second, third = found
    assert second.energy_j == first.energy_j + second.idle_energy_j
    gpu_idle_s = 2 * second.makespan_s - second.device_seconds
    assert second.idle_energy_j == pytest.approx(10.0 * second.makespan_s + 20.0 * gpu_idle_s)
    assert second.electricity_usd == pytest.approx(second.energy_j / 3.6e6 * 0.15)
    assert (first.cost_usd, first.idle_energy_j) == (second.cost_usd, 0.0)
    assert third.cost_usd == pytest.approx(third.makespan_s * (0.00002 + 2 * 0.0001))
