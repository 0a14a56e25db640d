"""What no schedule may break: one part at a time, nothing before its time, nothing lost, nothing gained."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import RunColumns, summarize
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Cpu, Gpu, Node, durations
from tests.properties.forms import kernel_columns, stepping_outcomes
from tests.properties.samples import batches, nodes
from tests.reference import STRATEGIES

ROUNDING = 1e-12
runs = {"batch": batches(), "node": nodes(), "name": st.sampled_from(STRATEGIES), "seed": st.integers(0, 9)}


def intervals(columns: RunColumns) -> dict[str, list[tuple[float, float]]]:
    """The busy intervals of every device, by start."""
    devices: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in range(len(columns)):
        for device, start, finish in columns.parts(row):
            devices[device].append((start, finish))
    return {device: sorted(parts) for device, parts in devices.items()}


@given(**runs)
def test_a_device_never_runs_two_parts_at_once(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    for parts in intervals(kernel_columns(batch, node, name, seed)).values():
        for (_, finish), (start, _) in itertools.pairwise(parts):
            assert start >= finish


@given(**runs)
def test_no_part_starts_before_its_task_is_ready(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    columns = kernel_columns(batch, node, name, seed)
    assert (columns.ready_s[columns.completed] >= batch.arrival_time[columns.completed]).all()
    for row in range(len(batch)):
        assert all(start >= columns.ready_s[row] for _, start, _ in columns.parts(row))


@given(batch=batches(graphs=True), node=nodes(), name=st.sampled_from(STRATEGIES), seed=st.integers(0, 9))
def test_parents_finish_before_children_are_ready(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    columns = kernel_columns(batch, node, name, seed)
    row_of = {int(task_id): row for row, task_id in enumerate(batch.task_id)}
    for row in np.flatnonzero(columns.completed):
        finishes = [float(columns.finish_s[row_of[parent]]) for parent in batch.parents(int(row))]
        assert columns.ready_s[row] == max([float(batch.arrival_time[row]), *finishes])


@given(batch=batches(graphs=True), node=nodes(), name=st.sampled_from(STRATEGIES), seed=st.integers(0, 9))
def test_a_task_fails_with_its_parents_and_for_no_other_reason(
    batch: TaskBatch, node: Node, name: str, seed: int
) -> None:
    columns = kernel_columns(batch, node, name, seed)
    row_of = {int(task_id): row for row, task_id in enumerate(batch.task_id)}
    for row in range(len(batch)):
        doomed = any(not columns.completed[row_of[parent]] for parent in batch.parents(row))
        assert doomed == (columns.status[row] == 3)
        if not columns.completed[row]:
            assert math.isnan(columns.finish_s[row])
            assert columns.cpu_s[row] == columns.gpu_s[row] == 0.0


@given(**runs)
def test_the_shares_of_a_completed_task_add_up_to_the_whole(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    columns, seconds = kernel_columns(batch, node, name, seed), durations(batch, node)
    for row in np.flatnonzero(columns.completed):
        duration_factor, gpu = batch.duration_factor[row], int(columns.gpu[row])
        share = columns.cpu_s[row] / (seconds.cpu_s[row] * duration_factor)
        if gpu >= 0:
            fits = columns.status[row] == 0
            whole = seconds.on_gpu(gpu)[row] if fits else seconds.paged_s[row, seconds.gpu_kind[gpu]]
            share += columns.gpu_s[row] / (whole * duration_factor)
        assert share == pytest.approx(1.0, abs=ROUNDING)


@given(**runs)
def test_energy_and_rent_are_busy_seconds_times_power_and_price(
    batch: TaskBatch, node: Node, name: str, seed: int
) -> None:
    columns = kernel_columns(batch, node, name, seed)
    busy = columns.busy_s()
    seconds = [sum(finish - start for start, finish in intervals(columns).get(d, [])) for d in node.device_names]
    assert busy.tolist() == pytest.approx(seconds, rel=1e-9, abs=1e-9)
    summary = summarize(columns)
    devices: tuple[Cpu | Gpu, ...] = (node.cpu, *node.gpus)
    joules = math.fsum(device.power_w * time for device, time in zip(devices, busy, strict=True))
    rent = math.fsum(device.price_usd_s * time for device, time in zip(devices, busy, strict=True))
    assert summary.energy_j == pytest.approx(joules, rel=ROUNDING)
    assert summary.rental_usd == pytest.approx(rent, rel=ROUNDING)
    assert summary.electricity_usd == pytest.approx(joules / 3.6e6 * node.electricity_usd_kwh, rel=ROUNDING)
    assert summary.device_seconds == pytest.approx(math.fsum(busy), rel=ROUNDING)


@given(**runs)
def test_queues_only_ever_add_to_the_execution_time(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    columns = kernel_columns(batch, node, name, seed)
    slack = ROUNDING * (1.0 + np.nan_to_num(columns.finish_s))
    assert (columns.wait_s >= -slack)[columns.completed].all()
    assert (columns.latency_s >= columns.execution_s - slack)[columns.completed].all()


@given(**runs)
def test_the_same_seed_gives_the_same_run(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    first, second = (stepping_outcomes(batch, node, name, seed) for _ in range(2))
    assert repr(first) == repr(second)


@given(**runs)
def test_no_device_is_busier_than_the_makespan(batch: TaskBatch, node: Node, name: str, seed: int) -> None:
    summary = summarize(kernel_columns(batch, node, name, seed))
    assert set(summary.utilization) == set(node.device_names)
    assert all(0.0 <= share <= 1.0 + ROUNDING for share in summary.utilization.values())
