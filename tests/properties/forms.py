"""The three forms of one run, side by side: compiled kernel, stepping form and naive reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, cast

from hybrid_ml_scheduler.cluster.simulation import Simulation
from hybrid_ml_scheduler.core import HasRule, Outcome, Prepares, RaceContext, Scheduler, TaskBatch
from hybrid_ml_scheduler.engine.batch import run_batch, run_by_estimates
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, Tariff
from hybrid_ml_scheduler.schedulers import available, find
from tests.reference import Record, make_strategy, simulate

HOLDING = tuple(name for name, entry in available().items() if hasattr(entry.load(), "dispatch"))
"""Every strategy of the registry that holds."""

OPTIONS: dict[str, tuple[str, dict[str, object]]] = {"half": ("round_robin", {"variant": "half"})}


class Row(NamedTuple):
    """What all three forms say about one task, as text so that NaN equals NaN and every bit counts."""

    task_id: int
    fraction: str
    gpu: int
    gang: tuple[int, ...]
    rounded: bool
    ready_s: str
    start_s: str
    finish_s: str
    execution_s: str
    latency_s: str
    wait_s: str
    cpu_s: str
    gpu_s: str
    energy_j: str
    cost_usd: str
    out_of_memory: bool
    failed: bool


@cache
def factory(spec: str) -> Callable[..., Scheduler]:
    """The class behind a name; looked up once, since that reads every installed distribution."""
    return find(spec).load()


def scheduler_called(name: str) -> Scheduler:
    """A fresh strategy of the product; `half` is the variant of round robin."""
    spec, options = OPTIONS.get(name, (name, {}))
    return factory(spec)(**options)


def kernel_columns(batch: TaskBatch, node: Node, name: str, seed: int, *, sees_ends: bool = True) -> RunColumns:
    """The batch through the compiled kernel."""
    scheduler = scheduler_called(name)
    if isinstance(scheduler, Prepares):
        scheduler.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
    run = run_batch if sees_ends else run_by_estimates
    return run(batch, node, cast(HasRule, scheduler).rule(batch))


def kernel_rows(batch: TaskBatch, node: Node, name: str, seed: int, *, sees_ends: bool = True) -> list[Row]:
    """The batch through the compiled kernel, in the order of the batch."""
    columns = kernel_columns(batch, node, name, seed, sees_ends=sees_ends)
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(node))))


def stepping_outcomes(batch: TaskBatch, node: Node, name: str, seed: int, *, sees_ends: bool = True) -> list[Outcome]:
    """The batch through the stepping form, in order of decision."""
    simulation = Simulation(node, scheduler_called(name), seed=seed, sees_ends=sees_ends)
    return simulation.run((task, float(batch.duration_factor[row])) for row, task in enumerate(batch))


def stepping_rows(batch: TaskBatch, node: Node, name: str, seed: int, *, sees_ends: bool = True) -> list[Row]:
    """The batch through the stepping form, in the order of the batch."""
    outcomes = stepping_outcomes(batch, node, name, seed, sees_ends=sees_ends)
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


def row_of(outcome: Outcome) -> Row:
    """An outcome of the product as a row."""
    undecided = outcome.failed and not outcome.out_of_memory
    return Row(
        task_id=outcome.task_id,
        fraction=repr(outcome.gpu_fraction),
        gpu=outcome.gpu,
        gang=outcome.gang,
        rounded=outcome.rounded,
        # A task that fails with its parent is never ready; the moment it is written off is nobody's claim.
        ready_s="nan" if undecided else repr(outcome.ready_s),
        start_s=repr(outcome.start_s),
        finish_s=repr(outcome.finish_s),
        execution_s=repr(outcome.execution_s),
        latency_s=repr(outcome.latency_s),
        wait_s=repr(outcome.wait_s),
        cpu_s=repr(outcome.cpu_s),
        gpu_s=repr(outcome.gpu_s),
        energy_j=repr(outcome.energy_j),
        cost_usd=repr(outcome.cost_usd),
        out_of_memory=outcome.out_of_memory,
        failed=outcome.failed,
    )


def record_row(record: Record) -> Row:
    """What the naive reference says about one task as a row."""
    return Row(
        task_id=record.task.task_id,
        fraction=repr(record.fraction),
        gpu=record.gpu,
        gang=tuple(record.gang[1:]) if record.gpu >= 0 else (),
        rounded=record.rounded,
        ready_s=repr(record.ready_s),
        start_s=repr(record.start_s),
        finish_s=repr(record.finish_s),
        execution_s=repr(record.execution_s),
        latency_s=repr(record.finish_s - record.task.arrival_time),
        wait_s=repr(record.finish_s - record.ready_s - record.execution_s),
        cpu_s=repr(record.cpu_s),
        gpu_s=repr(record.gpu_s),
        energy_j=repr(record.energy_j),
        cost_usd=repr(record.cost_usd),
        out_of_memory=record.out_of_memory,
        failed=record.failed,
    )


def reference_rows(batch: TaskBatch, node: Node, name: str, seed: int, *, sees_ends: bool = True) -> list[Row]:
    """The batch through the naive reference, in the order of the batch."""
    return [record_row(record) for record in simulate(batch, node, make_strategy(name, seed), sees_ends=sees_ends)]
