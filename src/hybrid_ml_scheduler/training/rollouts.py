"""Whole runs of the learned strategies in compiled code, for training and for judging them.

Independent tasks without noise: a device is the moment it is free, as in the cluster's kernel. Tests hold
these runs to the decisions and finishes of the stepping form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.learning.network import Shape
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.durations import batch_terms
from hybrid_ml_scheduler.physics.gangs import gang_members
from hybrid_ml_scheduler.physics.placement import first_slot, place_shared
from hybrid_ml_scheduler.plans.loads import LoadedTasks
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats, notice
from hybrid_ml_scheduler.schedulers.agents.inputs import best_action, view
from hybrid_ml_scheduler.schedulers.agents.value_charge import chosen_split
from hybrid_ml_scheduler.training.counterfactuals import whole_columns
from hybrid_ml_scheduler.training.gang_queues import (
    Crew,
    crew_of,
    fill_backlogs,
    free_devices,
    place_task,
    task_terms,
)

__all__ = ["AgentRun", "mean_latency", "run_agent", "run_value_charge", "task_columns"]

WARM_UP = 0.1


@compiled(nogil=True)
def _value_charge_run(
    arrival: FloatColumn,
    columns: FloatColumn,
    tasks: BatchTerms,
    grid: FloatColumn,
    weights: FloatColumn,
    arrival_stats: FloatColumn,
    crew: Crew,
    free: FloatColumn,
    finish: FloatColumn,
) -> None:
    needed, gpus = crew.needed, crew.gpu_kind.shape[0]
    backlog, gang = np.empty(gpus + 1), np.empty(max(needed.max(), 1) - 1, np.int32)
    for row in range(arrival.shape[0]):
        now = arrival[row]
        terms = task_terms(tasks, row, crew)
        fill_backlogs(now, needed[row], crew, free, backlog)
        fraction, gpu = chosen_split(
            now, columns[row, 0], columns[row, 1], terms, backlog[0], backlog[1:], grid, arrival_stats, weights
        )
        gpu = max(gpu, 0)
        _, cpu_part, gpu_part, _ = split_on(gpu, fraction, terms)
        gang[:] = -1
        if needed[row] > 1 and gpu_part > 0.0:
            fill_backlogs(now, 1, crew, free, backlog)
            gang_members(gpu, needed[row], crew.gpu_kind, crew.counts, backlog[1:], gang)
        slot = first_slot(gpus, free)
        finish[row] = place_shared(now, slot, gpu, gang, cpu_part, gpu_part, 1.0, 1.0, tasks.serial, free)[2]


def run_value_charge(
    tasks: LoadedTasks, node: Node, grid: FloatColumn, weights: FloatColumn, training_profile: FloatColumn | None = None
) -> tuple[FloatColumn, FloatColumn]:
    """Finish times of all tasks, and when each device is free, under `rl_split`; without a profile all is trusted."""
    batch, free, finish = tasks.batch, free_devices(node), np.empty(len(tasks.batch))
    terms = batch_terms(batch, node, tasks.seconds)
    _value_charge_run(
        batch.arrival_time,
        task_columns(tasks),
        terms,
        grid,
        weights,
        fresh_arrival_stats(training_profile),
        crew_of(tasks, node),
        free,
        finish,
    )
    return finish, free


class AgentRun(NamedTuple):
    """A run of the frozen agent: finish, energy and device (0 = CPU) of every task."""

    finish_s: FloatColumn
    energy_j: FloatColumn
    device: IntColumn


@compiled(nogil=True)
def _agent_run(
    arrival: FloatColumn,
    columns: FloatColumn,
    seconds: FloatColumn,
    device: IntColumn,
    energy_weight: float,
    joule_unit: float,
    power_w: FloatColumn,
    arrival_stats: FloatColumn,
    weights: npt.NDArray[np.float32],
    inputs: int,
    hidden: int,
    unit: float,
    crew: Crew,
    free: FloatColumn,
    run: AgentRun,
) -> None:
    actions, needed = seconds.shape[1], crew.needed
    finish, energy, used = run
    backlog = np.empty(actions)
    state, prior = np.empty(inputs, dtype=np.float32), np.empty(actions, dtype=np.float32)
    q, order = np.empty(actions, dtype=np.float32), np.empty(actions, dtype=np.int64)
    for row in range(arrival.shape[0]):
        now = arrival[row]
        fill_backlogs(now, needed[row], crew, free, backlog)
        size, intensity, memory = columns[row, 0], columns[row, 1], columns[row, 2]
        load, busy, familiar = notice(now, seconds[row].min(), size, intensity, memory, actions, arrival_stats)
        scale = busy * familiar * view(
            size, intensity, memory, energy_weight, load, joule_unit,
            False, seconds[row], device[row], backlog, power_w, state, prior, order,
        )  # fmt: skip
        chosen = order[best_action(weights, state, prior, scale, unit, hidden, q)]
        on, took = device[row, chosen], seconds[row, chosen]
        finish[row] = place_task(now, on, took, needed[row], crew, free)
        energy[row], used[row] = took * power_w[on] * (max(needed[row], 1) if on > 0 else 1), on


def mean_latency(finish: FloatColumn, tasks: LoadedTasks) -> float:
    """Mean latency after the warm-up."""
    return float((finish - tasks.batch.arrival_time)[int(WARM_UP * len(finish)) :].mean())


def task_columns(tasks: LoadedTasks) -> FloatColumn:
    """Size, intensity and memory of every task."""
    batch = tasks.batch
    return np.column_stack([batch.size, batch.compute_intensity, batch.memory_required])


def run_agent(
    tasks: LoadedTasks,
    node: Node,
    weights: npt.NDArray[np.float32],
    shape: Shape,
    value_unit: float,
    energy_weight: float,
    joule_unit: float,
    training_profile: FloatColumn | None = None,
) -> AgentRun:
    """Run the frozen agent (state with the cluster, time = latency) over all tasks."""
    count = len(tasks.batch)
    run = AgentRun(np.empty(count), np.empty(count), np.empty(count, dtype=np.int64))
    power = np.array([node.cpu.power_w / node.cpu.slots, *node.gpu_column("power_w")])
    seconds, device = whole_columns(tasks, node)
    _agent_run(
        tasks.batch.arrival_time,
        task_columns(tasks),
        seconds,
        device,
        energy_weight,
        joule_unit,
        power,
        fresh_arrival_stats(training_profile),
        weights,
        shape[0],
        shape[1],
        value_unit,
        crew_of(tasks, node),
        free_devices(node),
        run,
    )
    return run
