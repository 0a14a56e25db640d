"""One policy on one node: the figure that the target names, over all tasks and over those of the busiest time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster import RunColumns, capacity, summarize
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn
from hybrid_ml_scheduler.physics import Durations, Node
from hybrid_ml_scheduler.physics.durations import fits_no_gpu
from hybrid_ml_scheduler.plans.candidates import Candidate
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.targets import Target
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.recommending.question import Question, busiest_tenth
from hybrid_ml_scheduler.studies.running import Entrant, run_known

__all__ = ["NO_FIGURES", "Figures", "NodeTasks", "Slower", "value_of_pair"]

Slower = Callable[[TaskBatch, Node], FloatColumn]
"""How many times the seconds of each task (row) on each kind of GPU (column) of a node are taken."""


class Figures(NamedTuple):
    """The target's metric over all tasks, and over those of the busiest time (the same where there is none)."""

    whole: float
    peak: float

    @property
    def worse(self) -> float:
        """The one that decides; infinite where tasks fail."""
        return math.inf if math.isnan(self.whole) else max(self.whole, self.peak)


NO_FIGURES = Figures(math.nan, math.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class _SlowerTasks(KnownTasks):
    """Tasks whose seconds on GPUs are taken times a factor, in truth and in what is known of them beforehand."""

    slower: Slower

    @cached_property
    def _plain(self) -> KnownTasks:
        return KnownTasks(**{one.name: getattr(self, one.name) for one in fields(KnownTasks)})

    @cached_property
    def nominal(self) -> Durations:
        return self._times(self._plain.nominal)

    @cached_property
    def hidden(self) -> FloatColumn:
        return self._plain.hidden

    @cached_property
    def true(self) -> Durations:
        return self._times(self._plain.true)

    def _times(self, found: Durations) -> Durations:
        factors = self.slower(self.batch, self.node)
        paged = found.paged_s * factors if found.paged_s.size else found.paged_s
        return replace(found, gpu_s=found.gpu_s * factors, paged_s=paged)


class NodeTasks:
    """The tasks of one seed on one node: those that it can run, judged on their own."""

    def __init__(
        self, question: Question, candidate: Candidate, batch: TaskBatch, seed: int, slower: Slower | None = None
    ) -> None:
        self.candidate = candidate
        fits = (batch.gpus_required <= candidate.node.num_gpus) & ~fits_no_gpu(batch, candidate.node)
        self.cannot_run = int(np.count_nonzero(~fits))
        self.is_judged = bool(fits.any()) and not (self.cannot_run and batch.has_dependencies)
        self._peak = busiest_tenth(batch) if question.target.has_peak else None
        rows = np.flatnonzero(fits)
        own = batch.select(rows) if self.cannot_run and self.is_judged else batch
        if self._peak is not None and self.cannot_run:
            self._peak = self._peak[rows] if self._peak[rows].any() else None
        basis = {
            "batch": own,
            "node": candidate.node,
            "truth": usual_truth(question.workload.source),
            "seed": seed,
        }
        self._known = KnownTasks(**basis) if slower is None else _SlowerTasks(**basis, slower=slower)  # type: ignore[arg-type]
        self._target = question.target

    @property
    def load(self) -> float | None:
        """Arrivals a second over what the node could at most sustain; None where all tasks arrive at once."""
        times = self._known.batch.arrival_time
        span = float(times[-1] - times[0])
        if not self.is_judged or span == 0.0 or self._known.batch.has_dependencies:
            return None
        return (len(times) - 1) / span / capacity(self._known.batch, self._known.node, self._known.true)

    def run(self, policy: Entrant) -> Figures:
        """Run a policy over these tasks."""
        if not self.is_judged:
            return NO_FIGURES
        columns = run_known(policy.make(), self._known, policy.level)
        if not columns.completed.all():
            return NO_FIGURES
        whole = self._value(columns, np.ones(len(columns), dtype=np.bool_))
        return Figures(whole, whole if self._peak is None else self._value(columns, self._peak))

    def _value(self, columns: RunColumns, rows: BoolColumn) -> float:
        return _value(self._target, self._known, columns, rows)


def _value(target: Target, known: KnownTasks, columns: RunColumns, rows: BoolColumn) -> float:
    """The target's metric over some of the tasks of a run in which none failed."""
    if target.within_s is not None:
        return float(np.mean(columns.latency_s[rows] > target.within_s))
    fastest = known.fastest_s[rows] if target.metric.endswith("slowdown") else None
    if not rows.all():
        names = [one.name for one in fields(RunColumns) if one.name != "node"]
        columns = replace(columns, **{name: getattr(columns, name)[rows] for name in names})
    return float(getattr(summarize(columns, fastest), target.metric))


def value_of_pair(log: RunLog, key: str, make: Callable[[], Figures]) -> Figures:
    """The figures of a run that the log knows, else those of a run that is made and kept there."""
    whole, peak = log.value_of(f"{key}|all"), log.value_of(f"{key}|peak")
    if whole is None or peak is None:
        whole, peak = make()
        log.keep(f"{key}|all", whole)
        log.keep(f"{key}|peak", peak)
    return Figures(whole, peak)
