"""What each action would have led to: true returns of every action, for the agent's pre-training.

A demonstrator (the whole-device form of `rl_split`'s rule) runs a workload. At sampled tasks every action is
tried in turn; after it the demonstrator goes on with the same later tasks, and the rewards of those are
added up with the agent's discount. Differences between actions are then free of the chance of the arrivals.

A short task changes the future less than the routing of later tasks makes it flicker. It is therefore tried as
if it were longer (`PROBE_S`), and the difference it makes is scaled back: a price for each second it takes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.durations import batch_terms
from hybrid_ml_scheduler.plans.loads import LoadedTasks
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import notice
from hybrid_ml_scheduler.schedulers.agents.inputs import view, whole_seconds
from hybrid_ml_scheduler.schedulers.agents.value_charge import whole_device_charges
from hybrid_ml_scheduler.training.gang_queues import Crew, crew_of, fill_backlogs, place_task, task_terms

__all__ = ["returns_of_actions", "whole_columns"]

Singles = npt.NDArray[np.float32]
Reward = tuple[float, float, float, FloatColumn, FloatColumn]
"""Energy weight, joules that count as one second, horizon in seconds, power of each device, demonstrator's weights."""

PROBE_S = 0.3
FORGOTTEN = 0.03  # rewards that count less than this are left out


@compiled(nogil=True)
def _fill_columns(tasks: BatchTerms, crew: Crew, seconds: FloatColumn, device: IntColumn) -> None:
    for row in range(seconds.shape[0]):
        whole_seconds(task_terms(tasks, row, crew), seconds[row], device[row])


def whole_columns(tasks: LoadedTasks, node: Node) -> tuple[FloatColumn, IntColumn]:
    """Seconds and device of every action for every task."""
    shape = (len(tasks.batch), node.num_gpus + 1)
    seconds, device = np.empty(shape), np.empty(shape, dtype=np.int64)
    _fill_columns(batch_terms(tasks.batch, node, tasks.seconds), crew_of(tasks, node), seconds, device)
    return seconds, device


@compiled(nogil=True)
def _demonstrated(
    seconds: FloatColumn, device: IntColumn, backlog: FloatColumn, reward: Reward, charges: FloatColumn
) -> int:
    """The action of the demonstrator: least charge, with energy in proportion to its weight."""
    energy_weight, joule_unit, _, power_w, weights = reward
    whole_device_charges(seconds, device, backlog, weights, charges)
    best, least = 0, math.inf
    for action in range(seconds.shape[0]):
        energy = seconds[action] * power_w[device[action]] / joule_unit
        charge = (1.0 - energy_weight) * charges[action] + energy_weight * energy
        if charge < least:
            best, least = action, charge
    return best


@compiled(nogil=True)
def _step(
    now: float,
    needed: int,
    seconds: FloatColumn,
    device: IntColumn,
    crew: Crew,
    free: FloatColumn,
    reward: Reward,
    scratch: FloatColumn,
) -> float:
    """Let the demonstrator place one task; returns its cost."""
    backlog, charges = scratch[0], scratch[1]
    for index in range(free.shape[0]):
        free[index] = max(free[index], now)
    fill_backlogs(now, needed, crew, free, backlog)
    action = _demonstrated(seconds, device, backlog, reward, charges)
    on, took = device[action], seconds[action]
    end = place_task(now, on, took, needed, crew, free)
    energy_weight, joule_unit, _, power_w, _ = reward
    held = max(needed, 1) if on > 0 else 1
    cost = (1.0 - energy_weight) * (end - now) + energy_weight * held * took * power_w[on] / joule_unit
    return float(cost)


@compiled(nogil=True)
def _futures(
    row: int,
    arrival: FloatColumn,
    seconds: FloatColumn,
    device: IntColumn,
    crew: Crew,
    worlds: FloatColumn,
    reward: Reward,
    costs: FloatColumn,
) -> None:
    """Discounted cost of the later tasks in each world (row 0: as it was); equal worlds are run once.

    `worlds` holds when each device is free and is used up. A world that has become equal to the first stays so.
    """
    count = worlds.shape[0]
    costs[:] = 0.0
    apart = np.ones(count, dtype=np.bool_)
    scratch, needed = np.empty((2, seconds.shape[1])), crew.needed
    horizon_s = reward[2]
    for later in range(row + 1, arrival.shape[0]):
        now = arrival[later]
        discount = math.exp((arrival[row] - now) / horizon_s)
        if discount < FORGOTTEN:
            break
        plain = discount * _step(now, needed[later], seconds[later], device[later], crew, worlds[0], reward, scratch)
        costs[0] += plain
        for world in range(1, count):
            if not apart[world]:
                costs[world] += plain
                continue
            costs[world] += discount * _step(
                now, needed[later], seconds[later], device[later], crew, worlds[world], reward, scratch
            )
            apart[world] = np.any(worlds[world] != worlds[0])


@compiled(nogil=True)
def returns_of_actions(
    arrival: FloatColumn,
    task_columns: FloatColumn,
    seconds: FloatColumn,
    device: IntColumn,
    sampled: npt.NDArray[np.bool_],
    wander: FloatColumn,
    reward: Reward,
    arrival_stats: FloatColumn,
    crew: Crew,
    free: FloatColumn,
    states: Singles,
    scales: Singles,
    futures: Singles,
) -> int:
    """Fill state, scale and future return of every action (in the agent's order) at the sampled tasks.

    `wander` holds one number a task: below 1 it names an action to take at random, so that the states are not
    only the demonstrator's own. Returns how many rows were filled. `free` says when the devices are
    free at first, and moves on.
    """
    actions = seconds.shape[1]
    energy_weight, joule_unit, _, power_w, _ = reward
    scratch, needed = np.empty((2, actions)), crew.needed
    backlog, charges = scratch[0], scratch[1]
    worlds, costs = np.empty((actions + 1, free.shape[0])), np.empty(actions + 1)
    prior, order = np.empty(actions, dtype=np.float32), np.empty(actions, dtype=np.int64)
    filled = 0
    for row in range(arrival.shape[0]):
        now = arrival[row]
        for index in range(free.shape[0]):
            free[index] = max(free[index], now)
        fill_backlogs(now, needed[row], crew, free, backlog)
        size, intensity, memory = task_columns[row, 0], task_columns[row, 1], task_columns[row, 2]
        load = notice(now, seconds[row].min(), size, intensity, memory, actions, arrival_stats)[0]
        if sampled[row]:
            scales[filled] = view(
                size, intensity, memory, energy_weight, load, joule_unit, False, seconds[row], device[row], backlog,
                power_w, states[filled], prior, order,
            )  # fmt: skip
            stretch = max(1.0, PROBE_S / seconds[row].min())
            for world in range(actions + 1):
                worlds[world] = free
                if world > 0:
                    chosen = order[world - 1]
                    longer = stretch * seconds[row, chosen]
                    place_task(now, device[row, chosen], longer, needed[row], crew, worlds[world])
            _futures(row, arrival, seconds, device, crew, worlds, reward, costs)
            for action in range(actions):
                futures[filled, action] = -(costs[0] + (costs[action + 1] - costs[0]) / stretch)
            filled += 1
        if wander[row] < 1.0:
            action = int(wander[row] * actions)
        else:
            action = _demonstrated(seconds[row], device[row], backlog, reward, charges)
        place_task(now, device[row, action], seconds[row, action], needed[row], crew, free)
    return filled
