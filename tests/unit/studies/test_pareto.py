"""Nothing lies below the time-energy front, and its ends are attained."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch, stream
from hybrid_ml_scheduler.physics import CoExecution, Cpu, Gpu, MemoryRule, Node, best_execution_s, durations
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.pareto import time_energy_front
from hybrid_ml_scheduler.studies.race import run_scheduler

NODES = {
    "default": Node(),
    "mixed GPUs": Node(gpus=(Gpu(), Gpu(speed=2.0, power_w=150.0), Gpu(memory_mb=1000.0))),
    "serial": Node(co_execution=CoExecution.SERIAL),
    "paging": Node(memory_rule=MemoryRule.PAGE, gpus=(Gpu(memory_mb=500.0),)),
    "hungry CPU": Node(cpu=Cpu(power_w=300.0)),
}


def tasks(count: int = 60, *, cut: bool = True, widest: int = 1) -> TaskBatch:
    """Random tasks; without `cut` every second one runs whole, and some of those hold several GPUs."""
    rng, place = stream(3, "front"), np.arange(count)
    return TaskBatch.from_columns(
        divisible=np.full(count, True) if cut else place % 2 == 0,
        gpus_required=np.where(place % 4 == 1, place % widest + 1, 1),
        size=rng.uniform(100, 4000, count),
        compute_intensity=rng.random(count),
        memory_required=rng.uniform(10, 3000, count),
        arrival_time=np.sort(rng.random(count)),
        duration_factor=rng.uniform(0.5, 2.0, count),
    )


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("name", NODES)
def test_no_strategy_and_no_random_choice_lies_below_the_front(name: str, cut: bool) -> None:
    node = NODES[name]
    batch = tasks(cut=cut, widest=1 if cut else node.num_gpus)
    time_s, energy_j = time_energy_front(batch, node)
    for strategy in ("oracle", "greedy", "cpu_only", "gpu_only", "round_robin", "random", "earliest_finish"):
        for seed in range(5 if strategy == "random" else 1):
            run = run_scheduler(create(strategy), batch, node, seed=seed)
            point = float(run.execution_s.mean()), float(run.energy_j.mean())
            assert point[0] >= time_s[0] * (1 - 1e-9)
            floor = np.interp(point[0], time_s, energy_j)
            # The front is thinned for drawing; its chords lie above it by a hair.
            assert point[1] >= floor * (1 - 1e-3), strategy


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("name", NODES)
def test_the_fast_end_is_the_proven_best_execution_time(name: str, cut: bool) -> None:
    node, batch = NODES[name], tasks(cut=cut)
    time_s, _ = time_energy_front(batch, node)
    best = best_execution_s(batch, node, durations(batch, node)) * batch.duration_factor
    assert time_s[0] == pytest.approx(best.mean(), rel=1e-9)


def test_the_front_is_convex_and_falls() -> None:
    time_s, energy_j = time_energy_front(tasks(300), Node())
    slopes = np.diff(energy_j) / np.diff(time_s)
    assert (slopes < 0).all()
    assert (np.diff(slopes) >= -1e-6 * np.abs(slopes[:-1])).all()


def test_one_task_has_the_front_that_can_be_computed_by_hand() -> None:
    # CPU 1 s at 30 W, GPU 0.25 s at 50 W: the GPU alone uses 12.5 J, the balanced split f = 0.8 takes 0.2 s.
    batch = TaskBatch.from_columns(
        size=[1.0], compute_intensity=[1.0], memory_required=[0.0], arrival_time=[0.0], cpu_time=[1.0], gpu_time=[0.25]
    )
    time_s, energy_j = time_energy_front(batch, Node())
    assert time_s.tolist() == pytest.approx([0.2, 0.25])
    assert energy_j.tolist() == pytest.approx([0.2 * 30 + 0.2 * 50, 12.5])


def test_a_task_that_must_not_be_cut_has_the_ends_of_its_front_alone() -> None:
    batch = TaskBatch.from_columns(
        size=[1.0, 1.0],
        compute_intensity=[1.0, 1.0],
        memory_required=[0.0, 9000.0],
        arrival_time=[0.0, 0.0],
        cpu_time=[1.0, 1.0],
        gpu_time=[0.5, 0.25],
        divisible=[False, False],
    )
    time_s, energy_j = time_energy_front(batch, Node())
    assert time_s.tolist() == pytest.approx([0.75]), "the second one fits no GPU and takes its CPU second"
    assert energy_j.tolist() == pytest.approx([(25.0 + 30.0) / 2])


def test_a_gang_uses_the_power_of_all_its_gpus() -> None:
    batch = TaskBatch.from_columns(
        size=[1.0],
        compute_intensity=[1.0],
        memory_required=[0.0],
        arrival_time=[0.0],
        cpu_time=[100.0],
        gpu_time=[2.0],
        divisible=[False],
        gpus_required=[3],
    )
    time_s, energy_j = time_energy_front(batch, Node())
    assert (time_s[0], energy_j[0]) == (pytest.approx(2.0), pytest.approx(300.0))
