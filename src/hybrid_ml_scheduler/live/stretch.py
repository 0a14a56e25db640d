"""Several tasks of the stream at once: what all strategies are told about them, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybrid_ml_scheduler.cluster.onward import Factors, same_factors
from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.live.hidden import HiddenTruth
from hybrid_ml_scheduler.physics import Durations, PhysicsEstimator, TaskSeconds, durations
from hybrid_ml_scheduler.physics.choices import fastest_splits
from hybrid_ml_scheduler.physics.durations import batch_terms
from hybrid_ml_scheduler.physics.estimator import TruthFactor
from hybrid_ml_scheduler.physics.truth import scaled_durations

__all__ = ["Stretch", "Told"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a strategy is told of each task, and how many times that it really takes; as columns and one by one."""

    durations: Durations
    seconds: list[TaskSeconds]
    factors: Factors | None
    steps: Sequence[TruthFactor]

    def first(self, count: int) -> Told:
        """Return what is told of the first tasks."""
        known, factors = self.durations, self.factors
        return Told(
            durations=replace(known, **{name: getattr(known, name)[:count] for name in ("cpu_s", "gpu_s", "paged_s")}),
            seconds=self.seconds[:count],
            factors=None if factors is None else Factors(factors.cpu[:count], factors.gpu[:count]),
            steps=self.steps[:count],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Independent tasks; strategies at the level `exact` are told the truth but for the noise, others the formula."""

    batch: TaskBatch
    tasks: list[Task]
    exact: Told
    formula: Told

    @classmethod
    def of(cls, batch: TaskBatch, estimator: PhysicsEstimator, hidden: HiddenTruth) -> Stretch:
        """Compute the durations of the tasks on the estimator's node."""
        known = durations(batch, estimator.node)
        noise, kinds = batch.duration_factor, known.gpu_s.shape[1]
        noisy = same_factors(noise, kinds) if batch.is_noisy else None
        steps = noise.tolist()
        formula = Told(durations=known, seconds=_one_by_one(known), factors=noisy, steps=steps)
        if not hidden.hides:
            return cls(batch=batch, tasks=list(batch), exact=formula, formula=formula)
        truth = hidden.columns(batch)
        true, both = scaled_durations(known, truth), truth * noise[:, None]
        factors = Factors(np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1:]))
        return cls(
            batch=batch,
            tasks=list(batch),
            exact=Told(durations=true, seconds=_one_by_one(true), factors=noisy, steps=steps),
            formula=replace(formula, factors=factors, steps=list(map(tuple, both.tolist()))),
        )

    def facts_for(self, level: Level) -> Told:
        """What a strategy of this level is told."""
        return self.exact if level == EXACT else self.formula

    def first(self, count: int) -> Stretch:
        """Return the first tasks alone, down to none."""
        return Stretch(
            batch=self.batch.take(slice(count)),
            tasks=self.tasks[:count],
            exact=self.exact.first(count),
            formula=self.formula.first(count),
        )

    @property
    def words(self) -> str:
        """Which tasks these are: one that decides them together does not say which of them it failed at."""
        return f"one of the tasks {self.tasks[0].task_id} to {self.tasks[-1].task_id}"

    def labels(self, estimator: PhysicsEstimator, grid: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """The truly fastest split of every task on the grid, and its execution time."""
        known, batch = self.exact.durations, self.batch
        fractions, execution = np.empty(len(batch)), np.empty(len(batch))
        fastest_splits(batch_terms(batch, estimator.node, known), grid, fractions, execution)
        return fractions, execution


def _one_by_one(known: Durations) -> list[TaskSeconds]:
    gpu_s, paged_s = (map(tuple, column.tolist()) for column in (known.gpu_s, known.paged_s))
    return list(map(TaskSeconds, known.cpu_s.tolist(), gpu_s, paged_s))
