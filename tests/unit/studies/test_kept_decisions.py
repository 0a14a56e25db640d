"""What if from a record: the run in which every other decision was prescribed as it was."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import RunColumns, run_batch
from hybrid_ml_scheduler.core import BatchRule, RuleKind, TaskBatch
from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.physics import CoExecution, Cpu, Gpu, Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.kept_decisions import ChangedTask, KeptRun, RecordedTask
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.workload import generate, preset

NODES = {
    "parallel": Node(gpus=(Gpu(), Gpu(speed=0.5))),
    "slots": Node(gpus=(Gpu(), Gpu(speed=0.5)), cpu=Cpu(slots=3)),
    "serial": Node(gpus=(Gpu(), Gpu(speed=0.5)), co_execution=CoExecution.SERIAL),
}


def record(batch: TaskBatch, columns: RunColumns) -> list[RecordedTask]:
    def start(value: float) -> float | None:
        return None if math.isnan(value) else float(value)

    return [
        RecordedTask(
            task_id=int(batch.task_id[row]),
            arrival_s=float(batch.arrival_time[row]),
            ready_s=float(columns.ready_s[row]),
            finish_s=float(columns.finish_s[row]),
            gpu_fraction=float(columns.gpu_fraction[row]),
            gpu=int(columns.gpu[row]),
            cpu_start_s=start(columns.cpu_start_s[row]),
            cpu_part_s=float(columns.cpu_s[row]),
            gpu_start_s=start(columns.gpu_start_s[row]),
            gpu_part_s=float(columns.gpu_s[row]),
            gang=tuple(int(gpu) for gpu in columns.gang[row] if gpu >= 0),
        )
        for row in range(len(batch))
    ]


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
@pytest.mark.parametrize("name", ["random", "earliest_finish"])
def test_a_changed_record_is_the_run_with_all_other_decisions_prescribed(name: str, node: Node) -> None:
    batch = generate(preset("mixed").with_values({"num_tasks": 60, "arrival_rate": 12.0}), 3)
    base = run_scheduler(create(name), batch, node, seed=3)
    slots, serial = node.cpu.slots, node.co_execution == CoExecution.SERIAL
    kept = KeptRun(record(batch, base), [0.0] * (slots + 2), slots=slots, serial=serial)
    estimator = PhysicsEstimator(node)
    for row, share, gpu in ((0, 1.0, 1), (20, 0.5, 0), (59, 0.25, 1)):
        parts = estimator.parts(batch.task(row), share, gpu)
        found = kept.what_if(int(batch.task_id[row]), [ChangedTask(share, gpu, parts.cpu_s, parts.gpu_s)])
        shares, gpus = base.gpu_fraction.copy(), np.maximum(base.gpu, 0)
        shares[row], gpus[row] = share, gpu
        other = run_batch(batch, node, BatchRule(kind=RuleKind.PRESCRIBED, fractions=shares, gpus=gpus))
        (one,) = found.alternatives
        assert one.latency_s == other.latency_s[row]
        assert one.makespan_s == other.finish_s.max()
        assert one.total_change_s == pytest.approx(float((other.latency_s - base.latency_s).sum()), abs=1e-9)


def test_gangs_hold_all_their_gpus_in_a_record() -> None:
    plain = generate(preset("mixed").with_values({"num_tasks": 40, "arrival_rate": 12.0}), 3)
    wide = np.where(np.arange(40) % 3 == 0, 2, 1)
    wide.flags.writeable = False
    whole = np.zeros(40, dtype=np.bool_)
    whole.flags.writeable = False
    batch = replace(plain, gpus_required=wide, divisible=whole)
    node = NODES["parallel"]
    base = run_scheduler(create("gpu_only"), batch, node, seed=3)
    assert (base.gang >= 0).any()
    kept = KeptRun(record(batch, base), [0.0] * 3)
    cpu_s = PhysicsEstimator(node).cpu_s(batch.task(1))
    (one,) = kept.what_if(int(batch.task_id[1]), [ChangedTask(0.0, -1, cpu_s, 0.0)]).alternatives
    assert one.latency_s == pytest.approx(cpu_s)
    assert one.others_s <= 0.0


def test_a_gang_that_ran_elsewhere_can_be_given_its_gpus() -> None:
    plain = generate(preset("mixed").with_values({"num_tasks": 40, "arrival_rate": 12.0}), 3)
    wide, whole = np.where(np.arange(40) % 3 == 0, 2, 1), np.zeros(40, dtype=np.bool_)
    for column in (wide, whole):
        column.flags.writeable = False
    batch, node = replace(plain, gpus_required=wide, divisible=whole), NODES["parallel"]
    shares, gpus = (np.arange(40) % 2).astype(float), np.zeros(40, dtype=np.int64)
    base = run_batch(batch, node, BatchRule(kind=RuleKind.PRESCRIBED, fractions=shares, gpus=gpus))
    kept = KeptRun(record(batch, base), [0.0] * 3)
    row = 6
    busy_until = base.finish_s[:row][base.gpu_s[:row] > 0.0].max()
    assert max(kept.backlogs_s(int(batch.task_id[row]))) == max(0.0, busy_until - batch.arrival_time[row])
    gang_s = PhysicsEstimator(node).parts(batch.task(row), 1.0, 0).gpu_s
    (one,) = kept.what_if(int(batch.task_id[row]), [ChangedTask(1.0, 0, 0.0, gang_s, (1,))]).alternatives
    shares[row] = 1.0
    other = run_batch(batch, node, BatchRule(kind=RuleKind.PRESCRIBED, fractions=shares, gpus=gpus))
    assert other.gang[row].tolist() == [1]
    assert (one.latency_s, one.makespan_s) == (other.latency_s[row], other.finish_s.max())


def test_the_longest_latencies_come_first() -> None:
    batch = generate(preset("mixed").with_values({"num_tasks": 30}), 3)
    base = run_scheduler(create("random"), batch, NODES["parallel"], seed=3)
    longest = KeptRun(record(batch, base), [0.0] * 3).longest(5)
    assert longest == batch.task_id[np.argsort(-base.latency_s, kind="stable")[:5]].tolist()


def test_a_record_that_does_not_follow_from_its_order_is_refused() -> None:
    late = RecordedTask(7, 0.0, 0.0, 9.0, 0.0, -1, 8.0, 1.0, None, 0.0)
    with pytest.raises(WorkloadError, match="Task 7 did not run when its device came free"):
        KeptRun([late], [0.0, 0.0])


def test_a_task_that_is_not_in_the_record_is_refused() -> None:
    with pytest.raises(WorkloadError, match="no task 3"):
        KeptRun([], [0.0, 0.0]).what_if(3, [])
