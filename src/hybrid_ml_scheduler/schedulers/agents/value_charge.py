"""Charging a task for the future: completion time plus what the placement does to the value of the queues.

Two regimes, each with learned weights. *Stream*: completion + the change of a value function of the backlogs
(for each device a straight line, a square and saturating terms; one square of the weighted total).
The saturating terms make it cheap to burden a device that is busy anyway and dear to burden an idle one, so
long tasks gather and short ones pass. *Flood*: when even the idlest device has much to do, waiting is the same
for all and only efficient, even use of the devices counts: weighted device-seconds, corrected by imbalance.

What was learned counts as far as it can be trusted (`arrival_stats`): at no trust both are the bare completion time.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.physics.choices import completion_s
from hybrid_ml_scheduler.physics.formulas import allowed_share, resolve
from hybrid_ml_scheduler.physics.node import WHOLE
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import notice

__all__ = [
    "ALL_WEIGHTS",
    "FLOOD_WEIGHTS",
    "STREAM_WEIGHTS",
    "chosen_split",
    "least_value_charge",
    "value_charge",
    "whole_device_charges",
]

SCALES_S = np.array([0.03, 0.15, 0.6, 3.0, 15.0])
DEVICE_WEIGHTS = 2 + len(SCALES_S)
STREAM_WEIGHTS = 2 * DEVICE_WEIGHTS + 2
FLOOD_WEIGHTS = 6
ALL_WEIGHTS = STREAM_WEIGHTS + FLOOD_WEIGHTS
FLOOD_BACKLOG_S = 20.0


@compiled(inline="always")
def _device_value(backlog: float, weights: FloatColumn, first: int) -> float:
    value = (weights[first] + weights[first + 1] * backlog) * backlog
    for index in range(SCALES_S.shape[0]):
        value += weights[first + 2 + index] * backlog / (backlog + SCALES_S[index])
    return value


@compiled(inline="always")
def _stream_charge(
    completion: float,
    cpu_part: float,
    gpu_part: float,
    cpu_change: float,
    gpu_change: float,
    total: float,
    foresight: float,
    weights: FloatColumn,
) -> float:
    """Completion + foresight x change of the value of the backlogs; `total` is their weighted sum.

    The change of a device that gets no part is zero.
    """
    charge = completion + foresight * cpu_change + foresight * gpu_change
    added = cpu_part + weights[2 * DEVICE_WEIGHTS + 1] * gpu_part
    return charge + foresight * (weights[2 * DEVICE_WEIGHTS] * added * (total + 0.5 * added))


@compiled(inline="always")
def _flood_charge(
    completion: float,
    cpu_part: float,
    gpu_part: float,
    cpu_backlog: float,
    gpu_backlog: float,
    mean: float,
    most: float,
    familiar: float,
    weights: FloatColumn,
) -> float:
    """Weighted device-seconds, dearer above the mean backlog and beyond the longest; among strangers, completion."""
    first = STREAM_WEIGHTS
    beyond = max(0.0, completion - most)
    charge = weights[first] * completion + weights[first + 4] * beyond + weights[first + 5] * beyond * beyond
    charge += cpu_part * (1.0 + weights[first + 1] * (cpu_backlog + 0.5 * cpu_part - mean))
    gpu_price = 1.0 + weights[first + 2] * (gpu_backlog + 0.5 * gpu_part - mean)
    charge += weights[first + 3] * gpu_part * gpu_price
    return completion + familiar * (charge - completion)


@compiled()
def _levels(cpu_backlog: float, gpu_backlog: FloatColumn, gpu_weight: float) -> tuple[float, float, float, float]:
    """Weighted total, mean, most and least of the backlogs."""
    total = plain = most = least = cpu_backlog
    for backlog in gpu_backlog:
        total += gpu_weight * backlog
        plain += backlog
        most = max(most, backlog)
        least = min(least, backlog)
    return total, plain / (gpu_backlog.shape[0] + 1), most, least


@compiled()
def value_charge(
    cpu_part: float,
    gpu_part: float,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    gpu: int,
    serial: bool,
    foresight: float,
    familiar: float,
    weights: FloatColumn,
) -> float:
    """What one placement is charged: the number that `least_value_charge` makes least."""
    total, mean, most, least = _levels(cpu_backlog, gpu_backlog, weights[2 * DEVICE_WEIGHTS + 1])
    done = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], serial)
    if least > FLOOD_BACKLOG_S:
        return _flood_charge(done, cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], mean, most, familiar, weights)
    cpu_change = _device_value(cpu_backlog + cpu_part, weights, 0) - _device_value(cpu_backlog, weights, 0)
    waiting = gpu_backlog[gpu]
    gpu_change = _device_value(waiting + gpu_part, weights, DEVICE_WEIGHTS)
    gpu_change -= _device_value(waiting, weights, DEVICE_WEIGHTS)
    return _stream_charge(done, cpu_part, gpu_part, cpu_change, gpu_change, total, foresight, weights)


@compiled()
def _present_values(
    gpu_backlog: FloatColumn, gpu_kind: IntColumn, gpu_memory_mb: FloatColumn, weights: FloatColumn
) -> FloatColumn:
    """The value of each GPU's backlog; NaN for a GPU that equals one before it and need not be tried."""
    values = np.empty(gpu_backlog.shape[0])
    for gpu in range(gpu_backlog.shape[0]):
        values[gpu] = _device_value(gpu_backlog[gpu], weights, DEVICE_WEIGHTS)
        for other in range(gpu):
            same = gpu_backlog[other] == gpu_backlog[gpu] and gpu_kind[other] == gpu_kind[gpu]
            if same and gpu_memory_mb[other] == gpu_memory_mb[gpu]:
                values[gpu] = math.nan
    return values


@compiled()
def least_value_charge(
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    foresight: float,
    familiar: float,
    weights: FloatColumn,
) -> tuple[float, int]:
    """The split of the grid and the GPU with the least charge; ties to the smaller share, then the lower GPU."""
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, code, serial = terms
    rule = code % WHOLE
    total, mean, most, least = _levels(cpu_backlog, gpu_backlog, weights[2 * DEVICE_WEIGHTS + 1])
    flooded = least > FLOOD_BACKLOG_S
    cpu_value = _device_value(cpu_backlog, weights, 0)
    gpu_values = _present_values(gpu_backlog, gpu_kind, gpu_memory_mb, weights)
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    known_part, cpu_change = 0.0, 0.0  # a share leaves the CPU as much beside every GPU
    for point in range(grid.shape[0]):
        share = allowed_share(grid[point], code)
        for gpu in range(gpu_kind.shape[0]):
            if math.isnan(gpu_values[gpu]):
                continue
            kind = gpu_kind[gpu]
            paged = paged_seconds[kind] if paged_seconds.shape[0] > 0 else 0.0
            _, cpu_part, gpu_part, status = resolve(
                share, cpu_seconds, gpu_seconds[kind], paged, memory_mb, gpu_memory_mb[gpu], rule
            )
            if status == FAILED:
                continue
            waiting = gpu_backlog[gpu]
            done = completion_s(cpu_part, gpu_part, cpu_backlog, waiting, serial)
            if flooded:
                charge = _flood_charge(done, cpu_part, gpu_part, cpu_backlog, waiting, mean, most, familiar, weights)
            else:
                if cpu_part != known_part:
                    known_part = cpu_part
                    cpu_change = _device_value(cpu_backlog + cpu_part, weights, 0) - cpu_value
                gpu_change = _device_value(waiting + gpu_part, weights, DEVICE_WEIGHTS) - gpu_values[gpu]
                charge = _stream_charge(done, cpu_part, gpu_part, cpu_change, gpu_change, total, foresight, weights)
            if charge < best:
                best, best_fraction, best_gpu = charge, grid[point], gpu
            if grid[point] == 0.0:
                break  # every GPU is the same to a task that uses none
    return allowed_share(best_fraction, code), max(best_gpu, 0)  # what fits no GPU fails on any


@compiled(nogil=True)
def chosen_split(
    now: float,
    size: float,
    intensity: float,
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    arrival_stats: FloatColumn,
    weights: FloatColumn,
) -> tuple[float, int]:
    """Remember that the task came, see how far to trust, and choose: one call for a whole decision."""
    work = min(terms[0], terms[1].min())
    _, busy, familiar = notice(now, work, size, intensity, terms[4], gpu_backlog.shape[0] + 1, arrival_stats)
    return least_value_charge(terms, cpu_backlog, gpu_backlog, grid, busy * familiar, familiar, weights)


@compiled(nogil=True)
def whole_device_charges(
    seconds: FloatColumn, device: IntColumn, backlog: FloatColumn, weights: FloatColumn, charges: FloatColumn
) -> None:
    """The charge of giving the whole task to each device: `seconds[a]` of work on `device[a]` (0 = CPU)."""
    foresight = familiar = 1.0
    total, mean, most, least = _levels(backlog[0], backlog[1:], weights[2 * DEVICE_WEIGHTS + 1])
    for action in range(seconds.shape[0]):
        on, took = device[action], seconds[action]
        waiting = backlog[on]
        cpu_part, gpu_part = (took, 0.0) if on == 0 else (0.0, took)
        if least > FLOOD_BACKLOG_S:
            charges[action] = _flood_charge(
                waiting + took, cpu_part, gpu_part, backlog[0], waiting, mean, most, familiar, weights
            )
        else:
            first = 0 if on == 0 else DEVICE_WEIGHTS
            change = _device_value(waiting + took, weights, first) - _device_value(waiting, weights, first)
            changes = (change, 0.0) if on == 0 else (0.0, change)
            charges[action] = _stream_charge(
                waiting + took, cpu_part, gpu_part, changes[0], changes[1], total, foresight, weights
            )
