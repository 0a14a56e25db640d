"""The tasks of a run with their truth, and what is told of them at each level of knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster import capacity
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, EXACT, LEARNED, Backlogs, Level, sees_ends
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.physics.durations import Durations, durations
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.physics.optimum import best_execution_s
from hybrid_ml_scheduler.physics.truth import HiddenFactors, Truth, device_types, scaled_durations
from hybrid_ml_scheduler.workload import WorkloadParameters, generate
from hybrid_ml_scheduler.workload.nominal import known_beforehand, knows_scale, nominal_sentence

__all__ = ["KnownTasks", "Told", "known_at_load", "rate_at_load"]


class Told(NamedTuple):
    """What a strategy is told: tasks as it sees them, their seconds, and (hidden) how many times these they take.

    `factors` is `None` where the seconds are the truth; `learns` where they are the beginning of learning; `sees_ends`
    where backlogs are corrected by the parts that end.
    """

    batch: TaskBatch
    seconds: Durations
    factors: FloatColumn | None
    learns: bool
    sees_ends: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownTasks:
    """One batch on one node with its truth; what nobody asks for is not computed."""

    batch: TaskBatch
    node: Node
    truth: Truth
    seed: int
    forgets: bool = True
    nominal_backlogs: Backlogs = ESTIMATED

    @property
    def is_measured(self) -> bool:
        """Whether the truth of some tasks is a time of their own, as in a trace."""
        return self.seen is not self.batch

    @cached_property
    def seen(self) -> TaskBatch:
        """The tasks as they could be seen before they ran."""
        return known_beforehand(self.batch)

    @cached_property
    def nominal(self) -> Durations:
        """The seconds that were known beforehand."""
        return durations(self.seen, self.node)

    @cached_property
    def hidden(self) -> FloatColumn:
        """How many times the nominal seconds tasks take on each type of device, apart from their noise."""
        if not self.is_measured:
            return self._factors
        own = self._own
        ratios = np.column_stack([own.cpu_s / self.nominal.cpu_s, own.gpu_s / self.nominal.gpu_s])
        return ratios * self._factors

    @cached_property
    def _factors(self) -> FloatColumn:
        """The hidden factors of kinds and types of device: 1 for tasks with measured times."""
        return HiddenFactors(self.truth, self.seed, device_types(self.node)).columns(self.batch)

    @cached_property
    def _own(self) -> Durations:
        """The seconds of the tasks as the file has them."""
        return durations(self.batch, self.node)

    @cached_property
    def true(self) -> Durations:
        """The true seconds, apart from the noise: what the bounds are proved for."""
        if self.truth.is_the_formula or self.batch.is_timed.all():
            return self._own
        return scaled_durations(self._own, self._factors)

    @cached_property
    def fastest_s(self) -> FloatColumn:
        """The fastest possible execution of each task: the best split on free devices, its noise included."""
        return best_execution_s(self.batch, self.node, self.true) * self.batch.duration_factor

    def facts_for(self, level: Level) -> Told:
        """What strategies of a level are told."""
        if level == EXACT:
            return Told(self.batch, self.true, None, learns=False, sees_ends=True)
        plain = self.truth.is_the_formula and not self.is_measured
        return Told(
            self.seen,
            self.nominal,
            None if plain else self.hidden,
            learns=level == LEARNED or not self.knows_scale,
            sees_ends=sees_ends(level, self.nominal_backlogs),
        )

    @cached_property
    def knows_scale(self) -> bool:
        """Whether the nominal seconds mean anything before a task has finished."""
        return knows_scale(self.batch)

    def estimator(self, level: Level = LEARNED) -> LearnedEstimator:
        """A fresh estimator that learns the durations of these tasks; at `nominal` a plain mean of what finished."""
        kinds = self.batch.kind_names
        return LearnedEstimator(self.node, kinds, forgets=self.forgets, knows_scale=self.knows_scale, level=level)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is hidden and what stands for it, in words; nothing where the formula is the truth."""
        found = []
        if not self.truth.is_the_formula:
            drifts = "".join(
                f"; from task {one.at_task:,} on {one.share:.0%} of the kinds take {one.factor:g} times as long, or "
                f"that much less, on {'every device' if one.device == 'all' else 'the ' + one.device.upper()}"
                for one in self.truth.drift
            )
            found.append(
                f"hidden_truth: true seconds are the formula's times a factor of kind and device type, log-normal with "
                f"mean 1 and spread {self.truth.kind_spread:g}{drifts}; bounds are computed from the truth."
            )
        if self.is_measured:
            found.append(nominal_sentence(self.batch))
        return tuple(found)


def rate_at_load(law: WorkloadParameters, node: Node, load: float, seed: int, *, truth: Truth) -> float:
    """Tasks a second that are `load` times what the node could sustain of the tasks of this seed in truth."""
    probe = KnownTasks(batch=generate(law, seed), node=node, truth=truth, seed=seed)
    return load * capacity(probe.batch, node, probe.true)


def known_at_load(
    law: WorkloadParameters, node: Node, load: float, seed: int, *, truth: Truth, forgets: bool = True
) -> KnownTasks:
    """Tasks that arrive at `load` times what the node could sustain of these very tasks in truth."""
    rate = rate_at_load(law, node, load, seed, truth=truth)
    batch = generate(law.with_values({"arrival_rate": rate}), seed)
    return KnownTasks(batch=batch, node=node, truth=truth, seed=seed, forgets=forgets)
