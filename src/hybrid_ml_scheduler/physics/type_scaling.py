"""How long a task takes on one type of GPU when it was measured on another one: tables first, then a roofline.

Between intensity 0 (bound by memory bandwidth) and 1 (bound by arithmetic) the ratio is geometric. Arithmetic is that
of tensor cores in half precision; FP32 without tensor cores counts for tasks that say so. docs/hardware.md has the
derivation of the errors and the sources of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.physics.gpu_types import REFERENCE_TYPE, GpuType, gpu_type
from hybrid_ml_scheduler.physics.node import Node

__all__ = [
    "FP32_ERROR",
    "FP32_JOBS",
    "LLM_LAYERS_MS",
    "TENSOR_ERROR",
    "RatioSource",
    "roofline_speeds",
    "scaling_error",
    "seconds_ratio",
    "shares_table",
    "with_speed",
]

# Milliseconds of the linear layers of one block of Llama-2-7B in FP16 (query, key and value, attention output, gate and
# up, down): a batch of 8 tokens, which reads the weights, and of 4,096, which computes. Medians published with the
# simulator Vidur (MLSys 2024), added up.
LLM_LAYERS_MS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"a40": (0.734, 15.173), "a100": (0.260, 7.492), "h100": (0.152, 2.205)}
)

# Steps per second of FP32 training jobs, over those on a K80: medians over batch sizes of the throughputs published
# with Gavel (OSDI 2020), one GPU, alone.
FP32_JOBS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "a3c": {"k80": 1.0, "p100": 1.65, "v100": 2.09},
        "cyclegan": {"k80": 1.0, "p100": 4.76, "v100": 8.77},
        "lm": {"k80": 1.0, "p100": 3.39, "v100": 3.93},
        "recommendation": {"k80": 1.0, "p100": 1.59, "v100": 0.72},
        "resnet-18": {"k80": 1.0, "p100": 6.46, "v100": 6.75},
        "resnet-50": {"k80": 1.0, "p100": 4.09, "v100": 6.70},
        "transformer": {"k80": 1.0, "p100": 2.91, "v100": 3.48},
    }
)

TENSOR_ERROR = 1.2
"""The roofline's largest error between types with tensor cores: LLM layers on A40, A100 and H100, 18 pairs."""

FP32_ERROR = 2.0
"""The root mean square error of the roofline elsewhere: FP32 training jobs on K80, P100 and V100, 78 pairs."""


class RatioSource(IntEnum):
    """Where a ratio between two types comes from, the best first."""

    PROFILES = 0
    TABLE = 1
    ROOFLINE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ratio:
    """Seconds on the target over seconds on the source for every task, and where they come from (`RatioSource`)."""

    times: FloatColumn
    source: np.ndarray


def roofline_speeds(source: GpuType, target: GpuType) -> tuple[float, float, float]:
    """How many times faster the target is by published figures: on tensor cores, in FP32, and in memory bandwidth."""
    faster = target.speed / source.speed
    return (
        faster * target.dense_tflops / source.dense_tflops,
        faster * target.fp32_tflops / source.fp32_tflops,
        faster * target.memory_gb_s / source.memory_gb_s,
    )


def seconds_ratio(source: GpuType, target: GpuType, batch: TaskBatch) -> _Ratio:
    """Seconds on the target over seconds on the source: by profiles, else by a table, else by published figures."""
    size, intensity, faster = batch.size, batch.compute_intensity, target.speed / source.speed
    how = np.full(len(batch), int(RatioSource.ROOFLINE))
    if source.curves is not None and target.curves is not None:
        logs = target.curves.log_seconds(size, intensity) - source.curves.log_seconds(size, intensity)
        how[:] = RatioSource.PROFILES
        return _Ratio(times=np.exp(logs) / faster, source=how)
    dense, plain, stream = roofline_speeds(source, target)
    logs = -_between(intensity, np.where(batch.fp32, math.log(plain), math.log(dense)), math.log(stream))
    if source.name in LLM_LAYERS_MS and target.name in LLM_LAYERS_MS:
        (from_stream, from_dense), (to_stream, to_dense) = LLM_LAYERS_MS[source.name], LLM_LAYERS_MS[target.name]
        layers = _between(intensity, math.log(to_dense / from_dense), math.log(to_stream / from_stream))
        logs, how = np.where(batch.fp32, logs, layers - math.log(faster)), np.where(batch.fp32, how, RatioSource.TABLE)
    if batch.fp32.any():
        jobs = _job_ratios(source, target, batch)
        known = batch.fp32 & ~np.isnan(jobs)
        logs, how = np.where(known, np.log(jobs) - math.log(faster), logs), np.where(known, RatioSource.TABLE, how)
    return _Ratio(times=np.exp(logs), source=how)


def shares_table(one: GpuType, other: GpuType) -> bool:
    """Whether a table of measured times has both types."""
    names = {one.name, other.name}
    return any(names <= set(table) for table in (LLM_LAYERS_MS, *FP32_JOBS.values()))


def _between(intensity: FloatColumn, dense: FloatColumn | float, stream: float) -> FloatColumn:
    found: FloatColumn = intensity * dense + (1.0 - intensity) * stream
    return found


def _job_ratios(source: GpuType, target: GpuType, batch: TaskBatch) -> FloatColumn:
    """The ratio that was measured for a job of the task's kind; NaN for other kinds."""
    families = [FP32_JOBS.get(name.partition(" (")[0].strip().lower(), {}) for name in batch.kind_names]
    each = np.array(
        [
            one[source.name] / one[target.name] if source.name in one and target.name in one else math.nan
            for one in families
        ]
    )
    found: FloatColumn = each[batch.kind]
    return found


def scaling_error(one: GpuType, other: GpuType, *, fp32: bool) -> float:
    """The factor by which a scaling between two types may be off, for FP32 tasks or for others."""
    return TENSOR_ERROR if one.has_tensor_cores and other.has_tensor_cores and not fp32 else FP32_ERROR


def with_speed(node: Node, name: str, factor: float) -> Node:
    """The node if GPUs of one type were `factor` times as fast as the scaling says; measured times stay as they are.

    So do the seconds of the GPU that the physics describes: nothing is scaled to it.
    """
    made = gpu_type(name, node.types)
    described = REFERENCE_TYPE if node.curves is None else node.curves.gpu_type
    others = tuple(one for one in node.types if one.name != name)
    gpus = tuple(
        replace(
            gpu,
            dense_speed=gpu.dense_speed * factor,
            fp32_speed=gpu.fp32_speed * factor,
            stream_speed=gpu.stream_speed * factor,
        )
        if gpu.type == name != described
        else gpu
        for gpu in node.gpus
    )
    return replace(node, gpus=gpus, types=(*others, replace(made, speed=made.speed * factor)))
