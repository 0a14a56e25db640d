"""What not knowing costs: strategies at each level of knowledge on the preset `unknown`, over loads and seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster import capacity
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator, Lesson
from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, EXACT, LEARNED, LEVELS, Backlogs, Level
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Drift, Truth
from hybrid_ml_scheduler.plans.file_tasks import file_tasks
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, known_at_load
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.engines import Failure, LocalEngine
from hybrid_ml_scheduler.studies.race import run_known
from hybrid_ml_scheduler.workload import WorkloadParameters, preset

__all__ = ["STRATEGIES", "DriftCell", "KnowledgeCell", "KnowledgeStudy", "drift_cell", "knowledge_cell", "run_cells"]

STRATEGIES = ("earliest_finish", "earliest_device", "frugal_finish", "gpu_only", "rl_split", "hybrid_ml")
WARM_UP = 0.1  # the share of tasks, from the first on, that no mean counts
SURE_FROM = 1000  # tasks after which intervals are held to their word
SOON, LATE = 300, 2000  # after a drift: from which task on, and up to which, latencies are compared
RUNNING, WITHIN = 200, 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeStudy:
    """What is compared: everything but the load and the seed.

    `file` names a file instead of the preset (`choice_text`); its later part is what strategies meet.
    """

    tasks: int = 20_000
    strategies: tuple[str, ...] = STRATEGIES
    levels: tuple[Level, ...] = LEVELS
    only: tuple[tuple[str, Level], ...] = ()
    workload: str = "unknown"
    file: str = ""
    kind_spread: float = 0.5
    node: Node = field(default_factory=Node)
    nominal_backlogs: Backlogs = ESTIMATED

    def entries(self) -> tuple[tuple[str, Level], ...]:
        """Who races at which level: all at all of them, unless some are named."""
        return self.only or tuple((name, level) for name in self.strategies for level in self.levels)

    def law(self) -> WorkloadParameters:
        """The laws of the tasks."""
        return preset(self.workload).with_values({"num_tasks": self.tasks})

    def known_tasks(self, load: float, seed: int, *drift: Drift, forgets: bool = True) -> KnownTasks:
        """The tasks of one seed at one load of their true capacity."""
        if self.file:
            return self._of_file(load, seed)
        truth = Truth(kind_spread=self.kind_spread, drift=drift)
        known = known_at_load(self.law(), self.node, load, seed, truth=truth, forgets=forgets)
        return replace(known, nominal_backlogs=self.nominal_backlogs)

    def _of_file(self, load: float, seed: int) -> KnownTasks:
        """Tasks of the file's later part; its measured times are the truth that levels below `exact` do not know."""
        source = file_tasks(self.file, self.node)
        batch = source.tasks(seed, self.tasks)
        known = KnownTasks(
            batch=batch, node=self.node, truth=Truth(), seed=seed, nominal_backlogs=self.nominal_backlogs
        )
        return replace(known, batch=source.at_rate(batch, load * capacity(batch, self.node, known.true)))


class KnowledgeCell(NamedTuple):
    """One strategy at one level on the tasks of one seed; `coverage` of the 90 % intervals where it learned.

    `fastest_s` is the mean of what the tasks would take at best, each alone on free devices: no latency is less.
    """

    load: float
    seed: int
    strategy: str
    level: Level
    mean_latency_s: float
    coverage: float | None
    fastest_s: float


class DriftCell(NamedTuple):
    """What a drift in the middle does to one strategy: told, learning, and learning without forgetting.

    Ratios are of mean latency over tasks 301 to 2,000 after it, to the strategy that is told the truth.
    """

    load: float
    seed: int
    learned_s: float
    stubborn_s: float
    exact_s: float
    recovered_after: int | None
    coverage: float


class _Watched(LearnedEstimator):
    """Notes for every finished part whether it fell inside its 90 % interval."""

    def __init__(self, known: KnownTasks) -> None:
        super().__init__(known.node, known.batch.kind_names, forgets=known.forgets, knows_scale=known.knows_scale)
        self.inside: list[tuple[int, bool]] = []
        self._places = {identity: place for place, identity in enumerate(known.batch.task_id.tolist())}

    def lesson(self, task: Task, outcome: Outcome) -> Lesson:
        found = super().lesson(task, outcome)
        for device, ratio in ((0, found.cpu_ratio), (found.gpu_type, found.gpu_ratio)):
            if ratio > 0.0:
                believed = self.model.estimate(found.kind, device)
                self.inside.append((self._places[task.task_id], believed.low_s <= ratio <= believed.high_s))
        return found

    def coverage(self, begin: int, end: int) -> float:
        """The share of parts of these tasks that fell inside."""
        chosen = [inside for task, inside in self.inside if begin <= task < end]
        return float(np.mean(chosen)) if chosen else float("nan")


def _latencies(known: KnownTasks, name: str, level: Level, watched: _Watched | None = None) -> FloatColumn:
    columns = run_known(create(name), known, level, learned=watched)
    found: FloatColumn = columns.finish_s - known.batch.arrival_time
    return found


def knowledge_cell(study: KnowledgeStudy, load: float, seed: int) -> list[KnowledgeCell]:
    """All strategies at all levels on the tasks of one seed at one load."""
    known, found = study.known_tasks(load, seed), []
    count = len(known.batch)
    counted = slice(int(WARM_UP * count), None)
    fastest_s = float(known.fastest_s[counted].mean())
    for name, level in study.entries():
        watched = _Watched(known) if level == LEARNED and name == "hybrid_ml" else None
        mean = float(np.nanmean(_latencies(known, name, level, watched)[counted]))
        covered = None if watched is None else watched.coverage(min(SURE_FROM, count // 2), count)
        found.append(KnowledgeCell(load, seed, name, level, mean, covered, fastest_s))
    return found


def drift_cell(study: KnowledgeStudy, load: float, seed: int) -> DriftCell:
    """How soon it is learned that half of the kinds' GPU factors were doubled or halved in mid-run."""
    at = study.tasks // 2
    known = study.known_tasks(load, seed, Drift(at_task=at))
    stubborn = study.known_tasks(load, seed, Drift(at_task=at), forgets=False)
    watched = _Watched(known)
    learned, exact = _latencies(known, "hybrid_ml", LEARNED, watched), _latencies(known, "hybrid_ml", EXACT)
    without = _latencies(stubborn, "hybrid_ml", LEARNED)
    later = slice(min(at + SOON, (at + study.tasks) // 2), at + LATE)  # a short run has no 300 tasks after its drift
    means = [float(np.nanmean(column[later])) for column in (learned, without, exact)]
    return DriftCell(
        load=load,
        seed=seed,
        learned_s=means[0],
        stubborn_s=means[1],
        exact_s=means[2],
        recovered_after=_recovered(learned[at:], exact[at:]),
        coverage=watched.coverage(at, at + LATE),
    )


def _recovered(learned: FloatColumn, exact: FloatColumn) -> int | None:
    """The first task from which a running mean of 200 stays within 10 % of the told one, up to the 2,000th.

    `None` where the last running mean of those 2,000 tasks is outside. That need not be the drift: the two runs have
    different queues, and at a high load one burst of arrivals met by a longer queue can move a mean of 200 by more.
    """
    window = np.ones(RUNNING) / RUNNING
    one, other = (np.convolve(column[:LATE], window, mode="valid") for column in (learned, exact))
    outside = np.flatnonzero(one > WITHIN * other)
    if len(outside) and outside[-1] == len(one) - 1:
        return None
    return int(outside[-1]) + 1 if len(outside) else 0


Work = Callable[[KnowledgeStudy, float, int], Any]


def run_cells(
    work: Work, study: KnowledgeStudy, loads: Sequence[float], seeds: Sequence[int], step: Callable[[], None]
) -> list[Any]:
    """Do one piece of work for every load and seed on all cores; results come in order of load and seed."""
    jobs = [(work, study, load, seed) for load in loads for seed in seeds]
    found: dict[int, Any] = {}
    for index, outcome in LocalEngine().results(_worked, jobs):
        if isinstance(outcome, Failure):
            raise HmsError(f"load {jobs[index][2]:g}, seed {jobs[index][3]}: {outcome.reason}")
        found[index] = outcome
        step()
    return [found[index] for index in range(len(jobs))]


def _worked(job: tuple[Work, KnowledgeStudy, float, int]) -> Any:
    work, study, load, seed = job
    return work(study, load, seed)
