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
from hybrid_ml_scheduler.physics.gpu_types import GpuType, gpu_type
from hybrid_ml_scheduler.physics.node import Gpu, Node
from hybrid_ml_scheduler.physics.type_scaling import RatioSource, seconds_ratio, shares_table

__all__ = ["TimeSource", "TypedTimes", "typed_times"]


class TimeSource(IntEnum):
    """Where the seconds of a task on a GPU come from, the best first."""

    MEASURED = 0
    SCALED_BY_PROFILES = 1
    SCALED_BY_TABLE = 2
    SCALED_BY_FIGURES = 3
    TYPE_NOT_NAMED = 4
    FROM_CPU_TIME = 5
    FORMULA = 6


_SCALED_BY = np.array(
    [
        {
            RatioSource.PROFILES: TimeSource.SCALED_BY_PROFILES,
            RatioSource.TABLE: TimeSource.SCALED_BY_TABLE,
            RatioSource.ROOFLINE: TimeSource.SCALED_BY_FIGURES,
        }[one]
        for one in RatioSource
    ],
    dtype=np.int64,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypedTimes:
    """Seconds of every task on every kind of GPU as far as they are measured or scaled (NaN elsewhere).

    `reference_s` are the seconds on the GPU that the physics describes, from which a missing CPU time follows.
    `source` says of every task and kind where its seconds come from (`TimeSource`), and `origin` from which of the
    batch's `gpu_types` they are scaled (-1: from none).
    """

    gpu_s: FloatColumn
    reference_s: FloatColumn
    source: IntColumn
    origin: IntColumn


def typed_times(batch: TaskBatch, node: Node, kinds: Sequence[Gpu]) -> TypedTimes:
    """What is known of GPU seconds before any formula, for one GPU of each kind."""
    count = len(batch)
    seconds = np.empty((count, len(kinds)))
    source, origin = np.empty((2, count, len(kinds)), dtype=np.int64)
    for place, gpu in enumerate(kinds):
        seconds[:, place], source[:, place], origin[:, place] = _on(gpu, batch, node)
    reference = batch.gpu_time.copy()
    if batch.gpu_types and np.isnan(batch.cpu_time).any():
        scaled, _, _ = _scaled(node.described_type, batch, node)
        reference = np.where(np.isnan(reference), scaled, reference)
    return TypedTimes(gpu_s=seconds, reference_s=reference, source=source, origin=origin)


def _on(gpu: Gpu, batch: TaskBatch, node: Node) -> tuple[FloatColumn, IntColumn, IntColumn]:
    seconds = batch.gpu_time
    source = np.where(np.isnan(seconds), int(TimeSource.FORMULA), int(TimeSource.TYPE_NOT_NAMED))
    origin = np.full(len(batch), -1)
    if not gpu.type:
        source = np.where(np.isnan(seconds), source, int(TimeSource.MEASURED))
        _check_types_are_named(batch, node.types)
    elif batch.gpu_types:
        typed, how, origin = _scaled(gpu_type(gpu.type, node.types), batch, node)
        known = ~np.isnan(typed)
        seconds, source = np.where(known, typed, seconds), np.where(known, how, source)
    unknown = np.isnan(seconds)
    source = np.where(unknown & ~np.isnan(batch.cpu_time), int(TimeSource.FROM_CPU_TIME), source)
    return seconds, source, origin


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


def _scaled(target: GpuType, batch: TaskBatch, node: Node) -> tuple[FloatColumn, IntColumn, IntColumn]:
    """Seconds on one type: measured on it, else scaled from the most similar type that was measured."""
    seconds = np.full(len(batch), np.nan)
    source, used = np.full(len(batch), int(TimeSource.FORMULA)), np.full(len(batch), -1)
    origins = [gpu_type(name, node.types) for name in batch.gpu_types if name != target.name]
    if target.name in batch.gpu_types:
        seconds = batch.gpu_times[:, batch.gpu_types.index(target.name)].copy()
        source[~np.isnan(seconds)] = int(TimeSource.MEASURED)
    for origin in sorted(origins, key=lambda one: _distance(one, target)):
        missing = np.isnan(seconds)
        if not missing.any():
            break
        ratio, place = seconds_ratio(origin, target, batch), batch.gpu_types.index(origin.name)
        found = batch.gpu_times[:, place] * ratio.times
        filled = missing & ~np.isnan(found)
        source, used = np.where(filled, _SCALED_BY[ratio.source], source), np.where(filled, place, used)
        seconds = np.where(missing, found, seconds)
    return seconds, source, used


def _distance(one: GpuType, other: GpuType) -> tuple[bool, bool, float]:
    """How unlike two types are: those measured on both sides first, then by their published figures."""
    profiled = one.curves is not None and other.curves is not None
    dense = abs(math.log(one.dense_tflops / other.dense_tflops))
    return not profiled, not shares_table(one, other), dense + abs(math.log(one.memory_gb_s / other.memory_gb_s))
