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
from hybrid_ml_scheduler.physics.choices import row_terms, split_on
from hybrid_ml_scheduler.physics.durations import batch_terms
from hybrid_ml_scheduler.physics.placement import place_parts, place_whole
from hybrid_ml_scheduler.plans.loads import LoadedTasks
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats, notice
from hybrid_ml_scheduler.schedulers.agents.inputs import best_action, view
from hybrid_ml_scheduler.schedulers.agents.value_charge import chosen_split
from hybrid_ml_scheduler.training.counterfactuals import whole_columns

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
    free: FloatColumn,
    finish: FloatColumn,
) -> None:
    backlog = np.empty(free.shape[0] - 1)
    for row in range(arrival.shape[0]):
        now = arrival[row]
        for gpu in range(backlog.shape[0]):
            backlog[gpu] = max(free[gpu + 1] - now, 0.0)
        terms = row_terms(tasks, row)
        fraction, gpu = chosen_split(
            now, columns[row, 0], columns[row, 1], terms, max(free[0] - now, 0.0), backlog, grid, arrival_stats, weights
        )
        gpu = max(gpu, 0)
        _, cpu_part, gpu_part, _ = split_on(gpu, fraction, terms)
        finish[row] = place_parts(now, gpu, cpu_part, gpu_part, 1.0, 1.0, tasks.serial, free)[2]


def run_value_charge(
    tasks: LoadedTasks, node: Node, grid: FloatColumn, weights: FloatColumn, training_profile: FloatColumn | None = None
) -> tuple[FloatColumn, FloatColumn]:
    """Finish times of all tasks, and when each device is free, under `rl_split`; without a profile all is trusted."""
    batch, free, finish = tasks.batch, np.zeros(node.num_gpus + 1), np.empty(len(tasks.batch))
    terms = batch_terms(batch, node, tasks.seconds)
    _value_charge_run(
        batch.arrival_time,
        task_columns(tasks),
        terms,
        grid,
        weights,
        fresh_arrival_stats(training_profile),
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
    finish: FloatColumn,
    energy: FloatColumn,
    used: IntColumn,
) -> None:
    actions = seconds.shape[1]
    free, backlog = np.zeros(actions), np.empty(actions)
    state, prior = np.empty(inputs, dtype=np.float32), np.empty(actions, dtype=np.float32)
    q, order = np.empty(actions, dtype=np.float32), np.empty(actions, dtype=np.int64)
    for row in range(arrival.shape[0]):
        now = arrival[row]
        for index in range(actions):
            backlog[index] = max(free[index] - now, 0.0)
        size, intensity, memory = columns[row, 0], columns[row, 1], columns[row, 2]
        load, busy, familiar = notice(now, seconds[row].min(), size, intensity, memory, actions, arrival_stats)
        scale = busy * familiar * view(
            size, intensity, memory, energy_weight, load, joule_unit,
            False, seconds[row], device[row], backlog, power_w, state, prior, order,
        )  # fmt: skip
        chosen = order[best_action(weights, state, prior, scale, unit, hidden, q)]
        on, took = device[row, chosen], seconds[row, chosen]
        finish[row] = place_whole(now, on, took, free)
        energy[row], used[row] = took * power_w[on], on


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
    power = np.array([node.cpu.power_w, *node.gpu_column("power_w")])
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
        run.finish_s,
        run.energy_j,
        run.device,
    )
    return run
