"""A task for one sort of device runs there, whoever decides, in the compiled form and step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import RunColumns, Simulation, certificate
from hybrid_ml_scheduler.cluster.bounds import area_bound_s
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
from hybrid_ml_scheduler.physics import Cpu, Gpu, MemoryRule, Node, best_execution_s, durations
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers.registry import available, create
from hybrid_ml_scheduler.studies.running import run_known, run_scheduler
from hybrid_ml_scheduler.workload import WorkloadParameters, generate

NODE = Node(gpus=(Gpu(), Gpu(speed=2.0, memory_mb=16_000.0)))
LAW = WorkloadParameters(num_tasks=100, gpu_only=0.4, cpu_only=0.2, arrival_rate=6.0, kinds=3, noise_sigma=0.2)


def with_gangs(batch: TaskBatch) -> TaskBatch:
    """Every fifth task for GPUs only needs both GPUs at once."""
    needed = np.where(batch.gpu_only & (batch.task_id % 5 == 0), 2, batch.gpus_required)
    needed.flags.writeable = False
    return replace(batch, gpus_required=needed)


def check(columns: RunColumns, batch: TaskBatch) -> None:
    on_cpu, on_gpu = columns.cpu_s > 0.0, columns.gpu_s > 0.0
    assert not (on_cpu & batch.gpu_only).any(), "a task for GPUs only ran on the CPU"
    assert not (on_gpu & (batch.gpus_required == 0)).any(), "a task for the CPU only ran on a GPU"
    assert (on_cpu | on_gpu).all()


@pytest.mark.parametrize("level", [EXACT, LEARNED])
@pytest.mark.parametrize("name", sorted(available()))
def test_every_strategy_keeps_tasks_on_the_devices_that_they_can_run_on(name: str, level: Level) -> None:
    for batch in (generate(LAW, 3), with_gangs(generate(LAW, 4))):
        known = KnownTasks(batch=batch, node=NODE, truth=Truth(kind_spread=0.5), seed=1)
        check(run_known(create(name), known, EXACT if name == "oracle" else level), batch)


@pytest.mark.parametrize("name", ["cpu_only", "greedy", "random", "round_robin", "gpu_only"])
def test_a_share_that_a_task_does_not_allow_is_rounded_and_counted(name: str) -> None:
    batch = generate(LAW.with_values({"noise_sigma": 0.0}), 3)
    columns = run_scheduler(create(name), batch, NODE, seed=1)
    asked = {"cpu_only": 0.0, "gpu_only": 1.0}
    if name in asked:
        assert (columns.rounded == (batch.gpu_only & (asked[name] < 1.0))).all()
    elif name == "greedy":
        uncut = ~batch.divisible & (batch.compute_intensity < 1.0) & ((batch.compute_intensity > 0.0) | batch.gpu_only)
        assert (columns.rounded == uncut).all()
    else:
        assert columns.rounded[batch.gpu_only].any()
    check(columns, batch)


@pytest.mark.parametrize("rule", [MemoryRule.CPU, MemoryRule.FAIL, MemoryRule.PAGE])
@pytest.mark.parametrize(
    "name", ["earliest_finish", "oracle", "sjf", "min_min", "c_mu", "work_stealing", "heft", "rl_hold"]
)
def test_what_fits_no_gpu_fails_or_pages_and_never_moves_to_the_cpu(name: str, rule: MemoryRule) -> None:
    batch = generate(WorkloadParameters(num_tasks=60, gpu_only=0.5, arrival_rate=8.0), 5)
    memory = np.where(batch.gpu_only & (batch.task_id % 3 == 0), 20_000.0, batch.memory_required)
    memory.flags.writeable = False
    batch, node = replace(batch, memory_required=memory), replace(NODE, memory_rule=rule)
    lost = batch.gpu_only & (memory > 16_000.0) & (rule != MemoryRule.PAGE)
    compiled = run_scheduler(create(name), batch, node, seed=1)
    simulation, outcomes = Simulation(node, create(name), seed=1), []
    for task in batch:
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, 1.0)
    outcomes += simulation.drain()
    stepped = RunColumns.from_outcomes(batch, node, outcomes)
    for columns in (compiled, stepped):
        assert ((columns.status == FAILED) == lost).all()
        assert not (columns.cpu_s[batch.gpu_only] > 0.0).any()
    assert np.array_equal(compiled.finish_s, stepped.finish_s, equal_nan=True)


def test_the_bounds_know_where_a_task_can_run() -> None:
    batch = TaskBatch.from_columns(
        size=[1000.0] * 4,
        compute_intensity=[1.0] * 4,
        memory_required=[0.0] * 4,
        arrival_time=[0.0] * 4,
        divisible=[False] * 4,
        gpu_only=[True] * 4,
    )
    node = Node(cpu=Cpu(speed=100.0), gpus=(Gpu(),))
    seconds = durations(batch, node)
    assert best_execution_s(batch, node, seconds).tolist() == seconds.on_gpu(0).tolist()
    assert area_bound_s(batch, node) == pytest.approx(seconds.on_gpu(0).sum())
    assert certificate(batch, node).makespan_s == pytest.approx(seconds.on_gpu(0).sum())
    run = run_scheduler(create("earliest_finish"), batch, node, seed=0)
    assert run.finish_s.max() == pytest.approx(seconds.on_gpu(0).sum())
