"""Learning durations inside the compiled cluster: beliefs at a decision, lessons when tasks finish."""

from __future__ import annotations

from typing import NamedTuple

from hybrid_ml_scheduler.cluster.belief_record import note_outcome
from hybrid_ml_scheduler.cluster.ready import pop_ready
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.learning.belief import believe_seconds, learn, mean_factors
from hybrid_ml_scheduler.learning.duration_model import DurationModel
from hybrid_ml_scheduler.physics.formulas import plain_seconds

__all__ = ["Beliefs", "beliefs_of", "believe", "learn_parts", "learn_until", "plain_belief"]


class Beliefs(NamedTuple):
    """The kind of every task and the state of a duration model."""

    kind: IntColumn
    cells: FloatColumn
    types: FloatColumn
    shared: FloatColumn
    prior: FloatColumn


def beliefs_of(kind: IntColumn, model: DurationModel | None) -> Beliefs | None:
    """What the compiled cluster is told: the model's own arrays, which it changes, or none."""
    if model is None:
        return None
    return Beliefs(kind, model.cells, model.types, model.shared, model.prior)


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


@compiled()
def learn_until(
    now: float,
    heap: IntColumn,
    length: int,
    finish: FloatColumn,
    turn: IntColumn,
    kind: IntColumn,
    ratios: FloatColumn,
    gpu_type: IntColumn,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
) -> int:
    """Learn from every task that has finished by now, in order of finish and decision; returns how many still run.

    `ratios` are measured over nominal seconds of the two parts, 0 where there was none.
    """
    while length > 0 and finish[heap[0]] <= now:
        row = pop_ready(heap, length, finish, turn)
        length -= 1
        if ratios[row, 0] > 0.0:
            learn(kind[row], 0, ratios[row, 0], 0.0, cells, types, shared, prior)
        if ratios[row, 1] > 0.0:
            learn(kind[row], gpu_type[row], ratios[row, 1], 0.0, cells, types, shared, prior)
    return length
