"""The value of the queues in scale-free terms: what a placement costs those who come after it.

All seconds are counted in mean tasks (the mean seconds of a task on its fastest device), so that the same weights
serve milliseconds and days. A device's backlog is charged by a straight line, a square and saturating terms: it is
cheap to burden a device that is busy anyway and dear to burden an idle one, so long tasks gather and short ones pass.
One square of the weighted total counts the work itself. The charge grows with the load up to a knee.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.physics.choices import completion_s, split_on

__all__ = ["VALUE_WEIGHTS", "foresight", "least_valued"]

_SCALES = np.array([0.25, 1.25, 5.0, 25.0, 125.0])
_DEVICE = 2 + len(_SCALES)
_JOINT, _GPU_SHARE, _KNEE, _POWER, _GPU_COUNT, _CPU_COUNT = range(2 * _DEVICE, 2 * _DEVICE + 6)
_USUAL_GPUS = 4.0
_FAILED = 2

# Found by policy search in the simulator over thirty workloads (four presets, three laws of size, 1 to 16 GPUs, loads
# of 0.3 to 1.05, hidden spreads of 0 to 0.8), on seeds that no test or benchmark uses.
VALUE_WEIGHTS = np.array([
    1.6267, 0.086851, -1.9257, -4.4811, 9.5286, 4.3493, -0.99845,
    2.6198, -0.038896, -7.4285, -5.2981, 5.4405, 1.1284, -2.4858,
    0.33876, 1.6538, 0.87842, 2.5025, 1.7767, 0.36262,
])  # fmt: skip


@compiled(nogil=True, inline="always")
def foresight(load: float, weights: FloatColumn) -> float:
    """How much the future counts: all of it from the knee on, little when there is little to come."""
    return 1.0 if load >= weights[_KNEE] else (load / weights[_KNEE]) ** weights[_POWER]


@compiled(nogil=True, inline="always")
def _device_value(backlog: float, weights: FloatColumn, first: int) -> float:
    value = (weights[first] + weights[first + 1] * backlog) * backlog
    for index in range(_SCALES.shape[0]):
        value += weights[first + 2 + index] * backlog / (backlog + _SCALES[index])
    return value


@compiled(nogil=True)
def least_valued(
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    unit_s: float,
    future: float,
    weights: FloatColumn,
) -> tuple[float, int]:
    """The split with the least completion + change of the value; ties to the smaller share, then the lower GPU."""
    gpus, serial, per_unit = gpu_backlog.shape[0], terms[7], 1.0 / unit_s
    crowd = min(1.0, _USUAL_GPUS / gpus)
    gpu_scale, cpu_scale = crowd ** weights[_GPU_COUNT], crowd ** weights[_CPU_COUNT]
    cpu_now = cpu_backlog * per_unit
    total = cpu_now
    for gpu in range(gpus):
        total += weights[_GPU_SHARE] * gpu_backlog[gpu] * per_unit
    joint, cpu_value = weights[_JOINT] / (gpus + 1), _device_value(cpu_now, weights, 0)
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    for gpu in range(gpus):
        if _seen_before(gpu, gpu_backlog, terms):
            continue
        waiting = gpu_backlog[gpu] * per_unit
        gpu_value = _device_value(waiting, weights, _DEVICE)
        for point in range(grid.shape[0]):
            if grid[point] == 0.0 and best_gpu >= 0:
                continue  # every GPU is the same to a task that uses none
            _, cpu_part, gpu_part, status = split_on(gpu, grid[point], terms)
            if status == _FAILED:
                continue
            on_cpu, on_gpu = cpu_part * per_unit, gpu_part * per_unit
            later = 0.0
            if cpu_part > 0.0:
                later += cpu_scale * (_device_value(cpu_now + on_cpu, weights, 0) - cpu_value)
            if gpu_part > 0.0:
                later += gpu_scale * (_device_value(waiting + on_gpu, weights, _DEVICE) - gpu_value)
            added = on_cpu + weights[_GPU_SHARE] * on_gpu
            later += joint * added * (total + 0.5 * added)
            charge = completion_s(on_cpu, on_gpu, cpu_now, waiting, serial) + future * later
            if charge < best:
                best, best_fraction, best_gpu = charge, grid[point], gpu
    return best_fraction, best_gpu


@compiled(nogil=True, inline="always")
def _seen_before(gpu: int, gpu_backlog: FloatColumn, terms: Terms) -> bool:
    """Whether a GPU before this one is its equal in every respect, and need not be tried twice."""
    kind, memory = terms[3], terms[5]
    for other in range(gpu):
        if gpu_backlog[other] == gpu_backlog[gpu] and kind[other] == kind[gpu] and memory[other] == memory[gpu]:
            return True
    return False
