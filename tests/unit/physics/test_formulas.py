"""Seconds, joules and dollars, against figures worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import Task, TaskBatch
from hybrid_ml_scheduler.physics import (
    CoExecution,
    CostModel,
    Cpu,
    Curves,
    Gpu,
    MemoryRule,
    Node,
    PhysicsEstimator,
    SpeedupLaw,
    best_execution_s,
    durations,
)


def task(**changes: Any) -> Task:
    plain = Task(task_id=0, size=1000.0, compute_intensity=0.5, memory_required=1600.0, arrival_time=0.0)
    return plain._replace(**changes)


def estimator(**changes: Any) -> PhysicsEstimator:
    return PhysicsEstimator(Node(**changes))


@pytest.mark.parametrize(
    ("size", "intensity", "seconds"),
    [
        (1000.0, 0.5, 1.0),  # 1 / 1
        (4000.0, 0.5, 8.0),  # 4 ^ 1.5
        (250.0, 0.0, 0.25),  # 0.125 / 0.5
        (100.0, 1.0, math.sqrt(0.001) / 1.5),
    ],
)
def test_base_duration_is_size_to_the_three_halves_over_intensity(
    size: float, intensity: float, seconds: float
) -> None:
    found = estimator().cpu_s(task(size=size, compute_intensity=intensity))
    assert found == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    ("law", "intensity", "gain"),
    [
        (SpeedupLaw.LINEAR, 0.0, 1.0),
        (SpeedupLaw.LINEAR, 0.5, 2.5),
        (SpeedupLaw.LINEAR, 1.0, 4.0),
        (SpeedupLaw.AMDAHL, 0.0, 1.0),
        (SpeedupLaw.AMDAHL, 0.5, 1.6),
        (SpeedupLaw.AMDAHL, 1.0, 4.0),
    ],
)
def test_speedup_follows_its_law(law: SpeedupLaw, intensity: float, gain: float) -> None:
    one = task(compute_intensity=intensity, memory_required=0.0)
    believed = estimator(speedup_law=law)
    assert believed.cpu_s(one) / believed.gpu_s(one, 0) == pytest.approx(gain, rel=1e-14)


def test_gpu_time_is_compute_transfer_and_launch() -> None:
    gpu = Gpu(speed=2.0, bandwidth_mb_s=8000.0, launch_s=0.05)
    # 1 s of base work / (2.5 x 2) + 1600 MB / 8000 MB/s + 0.05 s
    assert estimator(gpus=(gpu,)).gpu_s(task(), 0) == pytest.approx(0.2 + 0.2 + 0.05, rel=1e-15)


def test_a_faster_cpu_is_faster_in_proportion() -> None:
    assert estimator(cpu=Cpu(speed=4.0)).cpu_s(task()) == 0.25


def test_measured_times_replace_the_formula_and_scale_with_speed() -> None:
    one = task(cpu_time=6.0, gpu_time=3.0)
    believed = estimator(cpu=Cpu(speed=2.0), gpus=(Gpu(), Gpu(speed=4.0, launch_s=9.0, bandwidth_mb_s=1.0)))
    assert believed.cpu_s(one) == 3.0
    assert believed.gpu_s(one, 0) == 3.0
    assert believed.gpu_s(one, 1) == 0.75


def test_a_split_shares_both_times_in_proportion() -> None:
    # 1 s on the CPU, 0.4 + 0.1 s on a GPU
    parts = estimator().parts(task(), 0.25, 2)
    assert parts == (0.25, 0.75, 0.125, False, False)


def test_execution_is_the_longer_part_or_in_series_the_sum() -> None:
    for mode, seconds in ((CoExecution.PARALLEL, 0.75), (CoExecution.SERIAL, 0.875)):
        believed = estimator(co_execution=mode)
        assert believed.execution_s(believed.parts(task(), 0.25, 0)) == seconds


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_a_share_of_nothing_or_everything_uses_one_device(fraction: float) -> None:
    parts = estimator().parts(task(), fraction, 0)
    assert (parts.cpu_s, parts.gpu_s) == ((1.0, 0.0) if fraction == 0.0 else (0.0, 0.5))


def test_the_least_execution_time_is_the_balance_of_the_two_devices() -> None:
    batch = TaskBatch.from_tasks([task()])
    best = best_execution_s(batch, Node(), durations(batch, Node()))
    assert best[0] == pytest.approx(1.0 * 0.5 / 1.5, rel=1e-15)


class TestMemory:
    """A share of 0.5 of 20,000 MB does not fit 8,000 MB; a share of 0.4 just does."""

    big = task(memory_required=20_000.0)

    def test_what_just_fits_is_no_fault(self) -> None:
        for rule in MemoryRule:
            assert not estimator(memory_rule=rule).parts(self.big, 0.4, 0).out_of_memory

    def test_the_default_sends_the_whole_task_to_the_cpu(self) -> None:
        assert estimator().parts(self.big, 0.5, 0) == (0.0, 1.0, 0.0, True, False)

    def test_or_it_fails(self) -> None:
        parts = estimator(memory_rule=MemoryRule.FAIL).parts(self.big, 0.5, 0)
        assert parts.failed
        assert parts.out_of_memory
        assert (parts.cpu_s, parts.gpu_s) == (0.0, 0.0)

    @pytest.mark.parametrize(("slowdown", "transfer"), [(10.0, 12.5), (2.0, 2.5)])
    def test_or_it_pages_at_a_fraction_of_the_bandwidth(self, slowdown: float, transfer: float) -> None:
        parts = estimator(memory_rule=MemoryRule.PAGE, paging_slowdown=slowdown).parts(self.big, 0.5, 0)
        assert parts.out_of_memory
        assert not parts.failed
        assert parts.gpu_s == pytest.approx(0.5 * (0.4 + transfer), rel=1e-14)
        assert parts.cpu_s == 0.5

    def test_memory_is_that_of_the_gpu_named(self) -> None:
        believed = estimator(gpus=(Gpu(), Gpu(memory_mb=10_000.0)))
        assert believed.parts(self.big, 0.5, 0).out_of_memory
        assert not believed.parts(self.big, 0.5, 1).out_of_memory

    def test_a_split_that_would_fail_never_completes(self) -> None:
        assert estimator(memory_rule=MemoryRule.FAIL).completion_s(self.big, 0.5, 0, 0.0, 0.0) == math.inf


def test_energy_and_rent_are_seconds_times_power_and_price() -> None:
    believed = estimator()
    parts = believed.parts(task(), 0.25, 1)
    # 0.75 s x 30 W + 0.125 s x 50 W;  0.75 s x $0.00002 + 0.125 s x $0.0001
    assert believed.energy_j(parts, 1) == 28.75
    assert believed.cost_usd(parts, 1) == pytest.approx(2.75e-5, rel=1e-14)


def test_electricity_is_charged_by_the_kilowatt_hour() -> None:
    believed = estimator(cost_model=CostModel.ELECTRICITY)
    assert believed.cost_usd(believed.parts(task(), 0.25, 1), 1) == pytest.approx(28.75 / 3.6e6 * 0.15, rel=1e-14)


def test_no_gpu_means_no_gpu_power() -> None:
    believed = estimator(gpus=(Gpu(power_w=1000.0),))
    assert believed.energy_j(believed.parts(task(), 0.0, 0), -1) == 30.0


@pytest.mark.parametrize(
    ("cpu_backlog", "gpu_backlog", "serial", "expected"),
    [
        (0.0, 0.0, False, 0.75),
        (0.0, 3.0, False, 3.125),
        (2.0, 0.0, False, 2.75),
        (2.0, 0.0, True, 2.875),  # the GPU part waits for the CPU part
        (0.0, 3.0, True, 3.125),
    ],
)
def test_completion_stands_behind_the_backlogs(
    cpu_backlog: float, gpu_backlog: float, serial: bool, expected: float
) -> None:
    believed = estimator(co_execution=CoExecution.SERIAL if serial else CoExecution.PARALLEL)
    assert believed.completion_s(task(), 0.25, 0, cpu_backlog, gpu_backlog) == expected


def test_a_batch_and_a_single_task_get_the_same_seconds() -> None:
    tasks = [task(task_id=n, size=100.0 + 37.7 * n, compute_intensity=n / 50) for n in range(50)]
    node = Node(gpus=(Gpu(), Gpu(speed=1.7), Gpu()), memory_rule=MemoryRule.PAGE, speedup_law=SpeedupLaw.AMDAHL)
    columns, believed = durations(TaskBatch.from_tasks(tasks), node), PhysicsEstimator(node)
    assert columns.gpu_s.shape == (50, 2)
    for row, one in enumerate(tasks):
        assert columns.cpu_s[row] == believed.cpu_s(one)
        assert [columns.on_gpu(gpu)[row] for gpu in range(3)] == [believed.gpu_s(one, gpu) for gpu in range(3)]


def test_measured_curves_are_met_at_their_points_and_straight_in_logarithms_between() -> None:
    size = np.array([100.0, 400.0, 1600.0])
    node = Node(
        gpus=(Gpu(bandwidth_mb_s=1e12),),
        curves=Curves(
            size=size,
            cpu_serial_s=size / 100,
            cpu_dense_s=size / 50,
            gpu_serial_s=size / 200,
            gpu_dense_s=size / 1000,
        ),
    )
    believed = PhysicsEstimator(node)
    plain = task(memory_required=0.0)
    for n in (100.0, 200.0, 1600.0, 6400.0):
        assert believed.cpu_s(plain._replace(size=n, compute_intensity=0.0)) == pytest.approx(n / 100, rel=1e-12)
        assert believed.cpu_s(plain._replace(size=n, compute_intensity=1.0)) == pytest.approx(n / 50, rel=1e-12)
        assert believed.gpu_s(plain._replace(size=n, compute_intensity=1.0), 0) == pytest.approx(n / 1000, rel=1e-12)
        half = believed.cpu_s(plain._replace(size=n, compute_intensity=0.5))
        assert half == pytest.approx(math.sqrt(n / 100 * n / 50), rel=1e-12)
