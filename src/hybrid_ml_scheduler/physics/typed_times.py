"""GPU seconds by type: what was measured, what is scaled from another type, and what nothing is known of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics.gpu_types import GpuType, gpu_type, seconds_ratio
from hybrid_ml_scheduler.physics.node import Gpu, Node

__all__ = ["TimeSource", "TypedTimes", "typed_times"]


class TimeSource(IntEnum):
    """Where the seconds of a task on a GPU come from, the best first."""

    MEASURED = 0
    SCALED_BY_PROFILES = 1
    SCALED_BY_FIGURES = 2
    TYPE_NOT_NAMED = 3
    FROM_CPU_TIME = 4
    FORMULA = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedTimes:
    """Seconds of every task on every kind of GPU as far as they are measured or scaled (NaN elsewhere).

    `reference_s` are the seconds on the GPU that the physics describes, from which a missing CPU time follows.
    `source` says of every task and kind where its seconds come from (`TimeSource`).
    """

    gpu_s: FloatColumn
    reference_s: FloatColumn
    source: IntColumn


def typed_times(batch: TaskBatch, node: Node, kinds: Sequence[Gpu]) -> TypedTimes:
    """What is known of GPU seconds before any formula, for one GPU of each kind."""
    count = len(batch)
    seconds = np.empty((count, len(kinds)))
    source = np.empty((count, len(kinds)), dtype=np.int64)
    for place, gpu in enumerate(kinds):
        seconds[:, place], source[:, place] = _on(gpu, batch, node)
    reference = batch.gpu_time.copy()
    if batch.gpu_types and np.isnan(batch.cpu_time).any():
        scaled, _ = _scaled(node.described_type, batch, node)
        reference = np.where(np.isnan(reference), scaled, reference)
    return TypedTimes(gpu_s=seconds, reference_s=reference, source=source)


def _on(gpu: Gpu, batch: TaskBatch, node: Node) -> tuple[FloatColumn, IntColumn]:
    seconds = batch.gpu_time
    source = np.where(np.isnan(seconds), int(TimeSource.FORMULA), int(TimeSource.TYPE_NOT_NAMED))
    if not gpu.type:
        source = np.where(np.isnan(seconds), source, int(TimeSource.MEASURED))
        _check_types_are_named(batch, node.types)
    elif batch.gpu_types:
        typed, how = _scaled(gpu_type(gpu.type, node.types), batch, node)
        known = ~np.isnan(typed)
        seconds, source = np.where(known, typed, seconds), np.where(known, how, source)
    unknown = np.isnan(seconds)
    source = np.where(unknown & ~np.isnan(batch.cpu_time), int(TimeSource.FROM_CPU_TIME), source)
    return seconds, source


def _check_types_are_named(batch: TaskBatch, types: Sequence[GpuType]) -> None:
    """A GPU without a type cannot run a task that knows its seconds by type alone."""
    if not batch.gpu_types:
        return
    lost = np.flatnonzero(~np.isnan(batch.gpu_times).all(axis=1) & np.isnan(batch.gpu_time))
    if len(lost):
        for name in batch.gpu_types:
            gpu_type(name, types)  # what is advised must exist
        raise PlanError(
            f"The GPU times of {amount(len(lost), 'task')} are by type ({', '.join(batch.gpu_types)}), and the node's "
            f"GPUs have none: name it, for example --gpu-type {batch.gpu_types[0]}."
        )


def _scaled(target: GpuType, batch: TaskBatch, node: Node) -> tuple[FloatColumn, IntColumn]:
    """Seconds on one type: measured on it, else scaled from the most similar type that was measured."""
    seconds = np.full(len(batch), np.nan)
    source = np.full(len(batch), int(TimeSource.FORMULA))
    origins = [gpu_type(name, node.types) for name in batch.gpu_types if name != target.name]
    if target.name in batch.gpu_types:
        seconds = batch.gpu_times[:, batch.gpu_types.index(target.name)].copy()
        source[~np.isnan(seconds)] = int(TimeSource.MEASURED)
    for origin in sorted(origins, key=lambda one: _distance(one, target)):
        missing = np.isnan(seconds)
        if not missing.any():
            break
        both = origin.curves is not None and target.curves is not None
        measured = batch.gpu_times[:, batch.gpu_types.index(origin.name)]
        found = measured * seconds_ratio(origin, target, batch.size, batch.compute_intensity)
        how = TimeSource.SCALED_BY_PROFILES if both else TimeSource.SCALED_BY_FIGURES
        source = np.where(missing & ~np.isnan(found), int(how), source)
        seconds = np.where(missing, found, seconds)
    return seconds, source


def _distance(one: GpuType, other: GpuType) -> tuple[bool, float]:
    """How unlike two types are: those measured on both sides first, then by their published figures."""
    measured = one.curves is not None and other.curves is not None
    dense = abs(math.log(one.fp32_tflops / other.fp32_tflops))
    return not measured, dense + abs(math.log(one.memory_gb_s / other.memory_gb_s))
