"""What the agent sees and what it may expect at once, compiled once for decisions, training and judging.

Actions: 0 is the CPU, 1 ... n the GPUs in order of how soon each would complete the task (equal GPUs thus look
alike whatever their ids). For each action the agent knows the seconds it would take and the device that
would really do them: a task that does not fit a GPU's memory runs on the CPU.
State: size, intensity and memory over their maxima, the energy weight, the load as the agent has seen it come;
then for every action the backlog of its device and the seconds of the task, both on a logarithmic scale.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.learning.network import q_vector
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.node import GPU_ONLY
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import notice

__all__ = [
    "MOST_MEMORY_MB",
    "MOST_SIZE",
    "bare_view",
    "best_action",
    "cluster_inputs",
    "glance",
    "view",
    "whole_seconds",
]

Singles = npt.NDArray[np.float32]

MOST_SIZE = 5_000.0
MOST_MEMORY_MB = 8_000.0
SHORT_S = 0.05  # where the logarithmic scale of seconds bends
LEAST_SCALE_S = 1e-3
SCALE_PER_S = 10.0  # advantages are learned in tens of seconds of delay for each second of the task
FAILED_S = 1e4  # what a placement that would fail is taken to last


def cluster_inputs(num_gpus: int) -> int:
    """How many numbers the state with the cluster has."""
    return 5 + 2 * (num_gpus + 1)


@compiled(nogil=True, inline="always")
def _squashed(seconds: float) -> float:
    return float(math.log1p(seconds / SHORT_S) / 5.0)


@compiled(nogil=True)
def whole_seconds(terms: Terms, seconds: FloatColumn, device: IntColumn) -> None:
    """Seconds of the whole task for the CPU and for every GPU, and the device that does them (0 = CPU)."""
    seconds[0], device[0] = FAILED_S if terms[6] >= GPU_ONLY else terms[0], 0
    for gpu in range(seconds.shape[0] - 1):
        _, cpu_part, gpu_part, status = split_on(gpu, 1.0, terms)
        seconds[gpu + 1] = FAILED_S if status == FAILED else cpu_part + gpu_part
        device[gpu + 1] = gpu + 1 if gpu_part > 0.0 else 0


@compiled(nogil=True)
def view(
    size: float,
    intensity: float,
    memory_mb: float,
    energy_weight: float,
    load: float,
    joule_unit: float,
    by_execution: bool,
    seconds: FloatColumn,
    device: IntColumn,
    backlog: FloatColumn,
    power_w: FloatColumn,
    state: Singles,
    prior: Singles,
    order: IntColumn,
) -> float:
    """Fill state, prior (the expected reward of each action) and order (the GPU behind it); returns the scale."""
    actions = seconds.shape[0]
    order[0] = 0
    for gpu in range(1, actions):  # insertion sort by completion; equal ones keep the order of their ids
        done = backlog[device[gpu]] + seconds[gpu]
        place = gpu
        while place > 1:
            before = order[place - 1]
            if backlog[device[before]] + seconds[before] <= done:
                break
            order[place] = before
            place -= 1
        order[place] = gpu
    state[0], state[1] = size / MOST_SIZE, intensity
    state[2], state[3] = memory_mb / MOST_MEMORY_MB, energy_weight
    state[4] = load
    least = seconds[0]
    for action in range(actions):
        chosen = order[action]
        took, waiting = seconds[chosen], backlog[device[chosen]]
        least = min(least, took)
        state[5 + action] = _squashed(waiting)
        state[5 + actions + action] = _squashed(took)
        time = took if by_execution else waiting + took
        energy = took * power_w[device[chosen]] / joule_unit
        prior[action] = -((1.0 - energy_weight) * time + energy_weight * energy)
    # Only time has a future: the energy of later tasks hardly depends on where this one goes.
    return float((1.0 - energy_weight) * SCALE_PER_S * max(least, LEAST_SCALE_S))


@compiled(nogil=True)
def bare_view(
    size: float, intensity: float, memory_mb: float, state: Singles, prior: Singles, order: IntColumn
) -> float:
    """The three numbers of the task alone; nothing is expected and GPUs keep their ids."""
    state[0], state[1], state[2] = size / MOST_SIZE, intensity, memory_mb / MOST_MEMORY_MB
    for action in range(prior.shape[0]):
        prior[action], order[action] = 0.0, action
    return 1.0


@compiled(nogil=True)
def best_action(
    weights: Singles, state: Singles, prior: Singles, scale: float, unit: float, hidden: int, q: Singles
) -> int:
    """Fill Q of every action, prior included, and return the best one (the first among equals)."""
    q_vector(weights, state, scale, unit, hidden, q)
    best = 0
    for action in range(q.shape[0]):
        q[action] += prior[action]
        if q[action] > q[best]:
            best = action
    return best


@compiled(nogil=True)
def glance(
    size: float,
    intensity: float,
    now: float,
    terms: Terms,
    energy_weight: float,
    joule_unit: float,
    by_execution: bool,
    has_prior: bool,
    numbers: FloatColumn,
    places: IntColumn,
    arrival_stats: FloatColumn,
    state: Singles,
    worth: Singles,
    weights: Singles,
    unit: float,
    hidden: int,
) -> tuple[int, float]:
    """Everything from one task and one cluster to the best action, in a single call; also returns the scale.

    Arrays travel together, because each one costs a call a tenth of a microsecond. Rows of `numbers`: seconds,
    backlog, power; of `places`: device, order; of `worth`: prior, Q.
    """
    seconds, backlog, device, prior, memory_mb = numbers[0], numbers[1], places[0], worth[0], terms[4]
    whole_seconds(terms, seconds, device)
    load, busy, familiar = notice(now, seconds.min(), size, intensity, memory_mb, seconds.shape[0], arrival_stats)
    scale = busy * familiar * view(
        size, intensity, memory_mb, energy_weight, load, joule_unit, by_execution,
        seconds, device, backlog, numbers[2], state, prior, places[1],
    )  # fmt: skip
    if not has_prior:
        prior[:] = 0.0
        scale = 1.0
    return best_action(weights, state, prior, scale, unit, hidden, worth[1]), scale
