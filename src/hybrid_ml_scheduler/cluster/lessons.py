"""Learning durations inside the compiled cluster: beliefs at a decision, lessons when tasks finish."""

from __future__ import annotations

from hybrid_ml_scheduler.cluster.belief_record import note_outcome
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.learning.belief import believe_seconds, learn, mean_factors
from hybrid_ml_scheduler.physics.formulas import plain_seconds

__all__ = ["believe", "learn_parts", "plain_belief"]


@compiled()
def believe(
    kind: int,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
    factors: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    believed_gpu: FloatColumn,
    believed_paged: FloatColumn,
) -> None:
    """Fill in the believed seconds on every kind of GPU; the factors (CPU first) are left for the caller."""
    mean_factors(kind, cells, types, shared, prior, factors)
    for index in range(believed_gpu.shape[0]):
        believed_gpu[index] = gpu_s[index] * factors[index + 1]
    for index in range(believed_paged.shape[0]):
        believed_paged[index] = paged_s[index] * factors[index + 1]


@compiled()
def plain_belief(
    size: float,
    intensity: float,
    memory_mb: float,
    law: int,
    most: float,
    cpu_speed: float,
    gpus: FloatColumn,
    kind: int,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
    factors: FloatColumn,
    out: FloatColumn,
) -> None:
    """Fill in the formula's seconds of one task and, below them, the believed ones (CPU first)."""
    plain_seconds(size, intensity, memory_mb, law, most, cpu_speed, gpus, out[0])
    believe_seconds(kind, cells, types, shared, prior, factors, out)


@compiled()
def learn_parts(
    kind: int,
    gpu_type: int,
    cpu_ratio: float,
    gpu_ratio: float,
    cpu_told: float,
    gpu_told: float,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
    record: FloatColumn,
) -> int:
    """Learn from both parts of a finished task; returns how many cells were found to have drifted.

    Ratios are measured over nominal seconds, 0 where there was no part; `told` is what was believed of them, and
    `record` the kind's.
    """
    drifts = 0
    if cpu_ratio > 0.0:
        note_outcome(record[0], cpu_told, cpu_ratio)
        drifts += learn(kind, 0, cpu_ratio, 0.0, cells, types, shared, prior)
    if gpu_ratio > 0.0:
        note_outcome(record[gpu_type], gpu_told, gpu_ratio)
        drifts += learn(kind, gpu_type, gpu_ratio, 0.0, cells, types, shared, prior)
    return drifts
