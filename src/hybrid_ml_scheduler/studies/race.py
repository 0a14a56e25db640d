"""A race: the same tasks for every strategy, each on its own cluster, judged against a proven floor.

Every run of it is a trial as those of the longer studies are, and its results are their records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hybrid_ml_scheduler.cluster import (
    Certificate,
    Summary,
)
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import Plan, check_last_seed
from hybrid_ml_scheduler.studies.running import Entrant, Progress, entrants, run_known, run_scheduler, task_seconds
from hybrid_ml_scheduler.studies.sequential import Look, looks_until_decided, planned_looks
from hybrid_ml_scheduler.studies.statistics import Samples
from hybrid_ml_scheduler.studies.trials import Record, Trial, Watcher, known_tasks, run_trial, summary_of

__all__ = [
    "Entrant",
    "SeedRace",
    "check_search",
    "entrants",
    "race_seed",
    "race_until_decided",
    "run_known",
    "run_race",
    "run_scheduler",
    "same_tasks",
    "samples_of",
    "task_seconds",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRace:
    """The records of all strategies on the tasks of one seed, and that of their floor."""

    seed: int
    floor: Record
    runs: Mapping[str, Record]

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return int(self.floor.figures["tasks"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed about the tasks and the node."""
        return tuple(self.floor.figures["assumptions"])

    @property
    def judged_by(self) -> str:
        """The metric that these tasks are about."""
        return str(self.floor.figures["judged_by"])

    @property
    def bound(self) -> Certificate:
        """What no strategy can beat on these tasks."""
        return Certificate(**{one.name: self.floor.figures[one.name] for one in fields(Certificate)})

    @property
    def summaries(self) -> dict[str, Summary]:
        """The metrics of every strategy."""
        return {name: summary_of(record.figures) for name, record in self.runs.items()}

    def metrics(self, name: str) -> dict[str, Any]:
        """One strategy's metrics with its gap to the proven makespan bound."""
        summary = summary_of(self.runs[name].figures)
        found = {key: value for key, value in asdict(summary).items() if key != "tasks"}
        return {**found, "makespan_gap": summary.gap(self.bound.makespan_s)}


def race_seed(
    plan: Plan,
    strategies: Sequence[Entrant],
    seed: int,
    *,
    known: KnownTasks | None = None,
    progress: Progress | None = None,
    watch: Watcher | None = None,
) -> SeedRace:
    """Race all strategies on the tasks of one seed; `watch` sees the columns of each before they are dropped.

    The tasks are made once for all of them, unless they are `known` already.
    """
    known = known_tasks(plan, seed) if known is None else known
    floor = Trial(plan=plan, seed=seed, keeps="figures")
    runs = {
        entrant.name: run_trial(replace(floor, entrant=entrant), known=known, progress=progress, watch=watch)
        for entrant in strategies
    }
    return SeedRace(seed=seed, floor=run_trial(floor, known=known), runs=runs)


def run_race(
    plan: Plan,
    strategies: Sequence[Entrant] | None = None,
    *,
    first: KnownTasks | None = None,
    progress: Progress | None = None,
    watch: Watcher | None = None,
) -> list[SeedRace]:
    """Race over all seeds of the plan, one after the other; `first` are the tasks of the first one, if known."""
    strategies = entrants(plan) if strategies is None else strategies
    return [
        race_seed(plan, strategies, seed, known=first if seed == plan.seed else None, progress=progress, watch=watch)
        for seed in range(plan.seed, plan.seed + plan.seeds)
    ]


def same_tasks(races: Sequence[SeedRace]) -> bool:
    """Whether several seeds gave the very same tasks, as a file does that leaves nothing to be drawn."""
    return len(races) > 1 and len({race.bound for race in races}) == 1


def samples_of(races: Sequence[SeedRace], metric: str) -> dict[str, list[float]]:
    """The values of one metric by strategy, one for each seed."""
    return {name: [float(getattr(race.summaries[name], metric)) for race in races] for name in races[0].summaries}


def check_search(plan: Plan, most: int) -> None:
    """Refuse a search for a decision that could not be carried through to its last seed."""
    planned_looks(most)
    check_last_seed("--max-seeds", most, plan.seed)


def race_until_decided(
    plan: Plan,
    strategies: Sequence[Entrant] | None = None,
    *,
    most: int,
    metric: str = "mean_latency_s",
    first: KnownTasks | None = None,
    progress: Progress | None = None,
    watch: Watcher | None = None,
) -> tuple[list[SeedRace], Look]:
    """Add seeds until every pair of strategies is decided on one metric, or `most` seeds are spent."""
    check_search(plan, most)
    strategies = entrants(plan) if strategies is None else strategies
    races: list[SeedRace] = []

    def sample(seeds: int) -> Samples:
        more = range(plan.seed + len(races), plan.seed + seeds)
        for seed in more:
            known = first if seed == plan.seed else None
            races.append(race_seed(plan, strategies, seed, known=known, progress=progress, watch=watch))
        if same_tasks(races):
            raise PlanError(f"{plan.workload.source}: every seed gives the same tasks, so more seeds decide nothing.")
        return samples_of(races, metric)

    looks = list(looks_until_decided(metric, sample, most=most))
    return races, looks[-1]
