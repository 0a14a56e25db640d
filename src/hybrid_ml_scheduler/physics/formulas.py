"""Every formula for seconds, once, as compiled scalar functions.

The kernel, the stepping form, the oracle, the labels and the bounds all call these.
"""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, FITTED, NOT_FITTING
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.physics.node import CPU_ONLY, GPU_ONLY, WHOLE, MemoryRule, SpeedupLaw

__all__ = [
    "allowed_share",
    "base_s",
    "cpu_alone_s",
    "cpu_s",
    "curve_s",
    "curve_speedup",
    "execution_s",
    "gpu_s",
    "paged_gpu_s",
    "plain_seconds",
    "resolve",
    "speedup",
    "type_speed",
    "whole_share",
]

_AMDAHL = int(SpeedupLaw.AMDAHL)
_FAIL = int(MemoryRule.FAIL)
_PAGE = int(MemoryRule.PAGE)


@compiled(allocates=False, inline="always")
def base_s(size: float, intensity: float) -> float:
    """Seconds of a task on the reference CPU: r·√r / (I + 0.5) with r = size / 1000."""
    ratio = size / 1000.0
    return ratio * math.sqrt(ratio) / (intensity + 0.5)


@compiled(allocates=False, inline="always")
def speedup(intensity: float, law: int, most: float) -> float:
    """How many times faster than the reference CPU a reference GPU is."""
    if law == _AMDAHL:
        return 1.0 / ((1.0 - intensity) + intensity / most)
    return 1.0 + (most - 1.0) * intensity


@compiled(allocates=False)
def curve_s(size: float, intensity: float, curves: FloatColumn, serial_row: int) -> float:
    """Seconds read off measured curves (rows of logarithms; `serial_row` and the next one)."""
    x = math.log(size)
    last = curves.shape[1] - 1
    right = 1
    while right < last and curves[0, right] < x:
        right += 1
    left = right - 1
    share = (x - curves[0, left]) / (curves[0, right] - curves[0, left])
    serial = curves[serial_row, left] + share * (curves[serial_row, right] - curves[serial_row, left])
    dense_row = serial_row + 1
    dense = curves[dense_row, left] + share * (curves[dense_row, right] - curves[dense_row, left])
    return math.exp(serial + intensity * (dense - serial))


@compiled(allocates=False)
def curve_speedup(size: float, intensity: float, curves: FloatColumn) -> float:
    """How many times faster the measured GPU is; beyond the measured sizes as at the nearest one."""
    nearest = min(max(size, math.exp(curves[0, 0])), math.exp(curves[0, -1]))
    return curve_s(nearest, intensity, curves, 1) / curve_s(nearest, intensity, curves, 3)


@compiled(allocates=False, inline="always")
def type_speed(intensity: float, dense: float, stream: float) -> float:
    """How many times faster a type of GPU is than the one described: geometric between intensity 0 and 1."""
    if dense == 1.0 and stream == 1.0:
        return 1.0
    return math.exp(intensity * math.log(dense) + (1.0 - intensity) * math.log(stream))


@compiled(allocates=False, inline="always")
def cpu_s(base: float, measured: float, speed: float) -> float:
    """Seconds of the whole task on the CPU; a measured time (not NaN) replaces the formula."""
    return (base if math.isnan(measured) else measured) / speed


@compiled(allocates=False, inline="always")
def gpu_s(
    base: float, gain: float, memory_mb: float, measured: float, speed: float, bandwidth: float, launch: float
) -> float:
    """Seconds of the whole task on a GPU: compute, transfer and launch; a measured time holds all three."""
    if math.isnan(measured):
        return base / (gain * speed) + memory_mb / bandwidth + launch
    return measured / speed


@compiled(allocates=False, inline="always")
def paged_gpu_s(gpu_seconds: float, memory_mb: float, bandwidth: float, slowdown: float) -> float:
    """Seconds on a GPU whose memory is too small: the transfer runs at bandwidth / slowdown."""
    return gpu_seconds + memory_mb / bandwidth * (slowdown - 1.0)


@compiled(allocates=False)
def plain_seconds(
    size: float,
    intensity: float,
    memory_mb: float,
    law: int,
    most: float,
    cpu_speed: float,
    gpus: FloatColumn,
    out: FloatColumn,
) -> None:
    """Fill in the seconds of a task without measured times on the CPU and on every kind of GPU, in one call.

    A row of `gpus` holds dense and stream speed of the type, then speed, bandwidth and launch of the kind.
    """
    base, gain = base_s(size, intensity), speedup(intensity, law, most)
    out[0] = cpu_s(base, math.nan, cpu_speed)
    for kind in range(gpus.shape[0]):
        dense, stream, speed, bandwidth, launch = (
            gpus[kind, 0],
            gpus[kind, 1],
            gpus[kind, 2],
            gpus[kind, 3],
            gpus[kind, 4],
        )
        own = gain * type_speed(intensity, dense, stream)
        out[1 + kind] = gpu_s(base, own, memory_mb, math.nan, speed, bandwidth, launch)


@compiled(allocates=False, inline="always")
def whole_share(fraction: float) -> float:
    """The share of a task that must not be cut: all of it on the nearer device, on the GPU where both are as near."""
    return 1.0 if fraction >= 0.5 else 0.0


@compiled(allocates=False, inline="always")
def allowed_share(fraction: float, rule: int) -> float:
    """The share of a task that its rule allows: any, the nearer whole device, or all of it on the GPU."""
    if rule >= GPU_ONLY:
        return 1.0
    return whole_share(fraction) if rule >= WHOLE else fraction


@compiled(allocates=False, inline="always")
def cpu_alone_s(cpu_s: float, rule: int) -> float:
    """Seconds of the whole task on the CPU; infinite for one that runs on GPUs only."""
    return math.inf if rule >= GPU_ONLY else cpu_s


@compiled(allocates=False, inline="always")
def resolve(
    fraction: float,
    cpu_seconds: float,
    gpu_seconds: float,
    paged_seconds: float,
    memory_mb: float,
    gpu_memory_mb: float,
    rule: int,
) -> tuple[float, float, float, int]:
    """Apply the memory rule to a share: fraction, CPU part, GPU part and status.

    A task that must not be cut comes with a share of 0 or 1 (`allowed_share`) and with its rule modulo `WHOLE`.
    """
    if rule == CPU_ONLY:
        return 0.0, cpu_seconds, 0.0, FITTED
    if fraction * memory_mb <= gpu_memory_mb:
        return fraction, (1.0 - fraction) * cpu_seconds, fraction * gpu_seconds, FITTED
    if rule == _PAGE:
        return fraction, (1.0 - fraction) * cpu_seconds, fraction * paged_seconds, NOT_FITTING
    if rule == _FAIL:
        return fraction, 0.0, 0.0, FAILED
    return 0.0, cpu_seconds, 0.0, NOT_FITTING


@compiled(allocates=False, inline="always")
def execution_s(cpu_part: float, gpu_part: float, serial: bool) -> float:
    """Execution time of the two parts on free devices."""
    if serial:
        return cpu_part + gpu_part
    return max(cpu_part, gpu_part)
