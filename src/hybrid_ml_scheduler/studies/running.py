"""The strategies of a plan, and one of them over the tasks of one seed: compiled if it can be, else step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.cluster import (
    RunColumns,
    Simulation,
    run_batch,
    run_by_estimates,
    run_held_batch,
)
from hybrid_ml_scheduler.cluster.event_simulation import EventSimulation
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core import FloatColumn, Learns, Prepares, RaceContext, Scheduler, TaskBatch, with_rule
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import HasHeldRule
from hybrid_ml_scheduler.core.knowledge import EXACT, Level, at_level, level_of, split_level
from hybrid_ml_scheduler.physics import Durations, Node, PhysicsEstimator, TaskSeconds, durations
from hybrid_ml_scheduler.physics.estimator import TruthFactor
from hybrid_ml_scheduler.physics.gangs import has_gangs
from hybrid_ml_scheduler.plans.idle_physics import idle_notes
from hybrid_ml_scheduler.plans.interference_plan import slowdown_note
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.plans.time_notes import time_notes
from hybrid_ml_scheduler.schedulers import contain, create, options_for, printing_apart

__all__ = [
    "Entrant",
    "Progress",
    "entrants",
    "hardware_assumptions",
    "hidden_notes",
    "run_known",
    "run_scheduler",
    "task_seconds",
]

Progress = Callable[[int], None]
_REPORT_EVERY = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One strategy in a race: its name, how to make it anew for every seed, whether it learns, and what it is told."""

    name: str
    spec: str
    options: Mapping[str, Any]
    learning: str
    level: Level = EXACT
    unused: list[Scheduler] = field(default_factory=list, repr=False, compare=False)

    def make(self) -> Scheduler:
        """A fresh instance, with nothing remembered; the one that was made to see that it can be comes first."""
        with printing_apart():
            return self.unused.pop() if self.unused else create(self.spec, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process makes its own instances."""
        return _entrant, (self.name, self.spec, self.options, self.learning, self.level)


def _entrant(name: str, spec: str, options: Mapping[str, Any], learning: str, level: Level) -> Entrant:
    return Entrant(name=name, spec=spec, options=options, learning=learning, level=level)


def entrants(plan: Plan) -> list[Entrant]:
    """The strategies of a plan, made once to see that they can be."""
    found: list[Entrant] = []
    for spec in plan.schedulers:
        with printing_apart():
            options = options_for(spec, plan.options)
            made = create(spec, options)
        asked = split_level(spec)[1]
        name, level = at_level(made.name, asked), level_of(made, asked, plan.knowledge)
        if any(other.name == name for other in found):
            raise PlanError(f"Two strategies of the race are called {name!r}.")
        found.append(
            Entrant(name=name, spec=spec, options=options, learning=_learning(made), level=level, unused=[made])
        )
    bare = {split_level(entrant.name)[0] for entrant in found} | {split_level(spec)[0] for spec in plan.schedulers}
    unused = set(plan.options) - bare
    if unused:
        raise PlanError(f"schedulers.{sorted(unused)[0]} has options but is not in the race.")
    return found


def _learning(made: Scheduler) -> str:
    """`online`, `frozen` or `none`: a learner says itself whether it goes on learning."""
    said = getattr(made, "learning", None)
    if isinstance(said, bool):
        return "online" if said else "frozen"
    return str(said) if said is not None else ("online" if isinstance(made, Learns) else "none")


def run_known(
    scheduler: Scheduler,
    known: KnownTasks,
    level: Level,
    *,
    retrain_interval: int = 50,
    progress: Progress | None = None,
    learned: LearnedEstimator | None = None,
) -> RunColumns:
    """Run one strategy that is told this much: compiled if it has a rule, otherwise step by step.

    Where durations are learned it does so with a fresh estimator, or with the one handed in.
    """
    told, node, seed = known.facts_for(level), known.node, known.seed
    if node.interference:
        with contain(scheduler.name):
            own = (learned or known.estimator(level)) if told.learns else None
            events = _event_form(
                scheduler, told.batch, node, seed, retrain_interval, own, sees_ends=told.sees_ends
            )  # fmt: skip
            return _stepped(events, told.batch, told.seconds, progress, told.factors)
    if told.factors is None and told.sees_ends and not told.learns:
        return run_scheduler(
            scheduler,
            told.batch,
            node,
            seed=seed,
            retrain_interval=retrain_interval,
            seconds=told.seconds,
            progress=progress,
        )
    learned = (learned or known.estimator(level)) if told.learns else None
    with contain(scheduler.name):
        ruled = with_rule(scheduler)
        if ruled is None and learned is None:
            columns = _held_run(scheduler, told.batch, node, seed, told.seconds, told.factors)
            if columns is not None:
                return _done(columns, progress)
        if ruled is None:
            recall = None if told.batch.has_dependencies else 0
            simulation = Simulation(
                node,
                scheduler,
                seed=seed,
                retrain_interval=retrain_interval,
                recall=recall,
                learned=learned,
                sees_ends=told.sees_ends,
            )
            return _stepped(simulation, told.batch, told.seconds, progress, told.factors)
        if isinstance(scheduler, Prepares):
            estimator = PhysicsEstimator(node) if learned is None else learned
            scheduler.prepare(RaceContext(estimator=estimator, seed=seed, retrain_interval=retrain_interval))
        rule = ruled.rule(told.batch.visible)
        model = None if learned is None else learned.model
        if told.sees_ends:
            columns = run_batch(told.batch, node, rule, seconds=told.seconds, truth=told.factors, model=model)
        else:
            columns = run_by_estimates(told.batch, node, rule, seconds=told.seconds, truth=told.factors, model=model)
    return _done(columns, progress)


def run_scheduler(
    scheduler: Scheduler,
    batch: TaskBatch,
    node: Node,
    *,
    seed: int,
    retrain_interval: int = 50,
    seconds: Durations | None = None,
    progress: Progress | None = None,
) -> RunColumns:
    """Run one strategy over a batch: compiled if it has a rule, otherwise step by step."""
    seconds = durations(batch, node) if seconds is None else seconds
    with contain(scheduler.name):
        if node.interference:
            return _stepped(_event_form(scheduler, batch, node, seed, retrain_interval), batch, seconds, progress)
        ruled = with_rule(scheduler)
        if ruled is None:
            columns = _held_run(scheduler, batch, node, seed, seconds)
            if columns is not None:
                return _done(columns, progress)
            recall = None if batch.has_dependencies else 0
            simulation = Simulation(node, scheduler, seed=seed, retrain_interval=retrain_interval, recall=recall)
            return _stepped(simulation, batch, seconds, progress)
        if isinstance(scheduler, Prepares):
            known = PhysicsEstimator(node)
            scheduler.prepare(RaceContext(estimator=known, seed=seed, retrain_interval=retrain_interval))
        columns = run_batch(batch, node, ruled.rule(batch.visible), seconds=seconds)
    return _done(columns, progress)


def _event_form(
    scheduler: Scheduler,
    batch: TaskBatch,
    node: Node,
    seed: int,
    retrain_interval: int,
    learned: LearnedEstimator | None = None,
    *,
    sees_ends: bool = True,
) -> Simulation:
    """The form that serves where devices slow each other down, whatever the strategy."""
    recall = None if batch.has_dependencies else 0
    return EventSimulation(
        node,
        scheduler,
        seed=seed,
        retrain_interval=retrain_interval,
        recall=recall,
        learned=learned,
        sees_ends=sees_ends,
    )


def _held_run(
    scheduler: Scheduler,
    batch: TaskBatch,
    node: Node,
    seed: int,
    seconds: Durations,
    truth: FloatColumn | None = None,
) -> RunColumns | None:
    """The run of a strategy that holds and has a compiled form for these tasks; `None` for any other."""
    if not isinstance(scheduler, HasHeldRule) or node.cpu.slots > 1 or has_gangs(batch):
        return None
    if isinstance(scheduler, Prepares):
        scheduler.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
    rule = scheduler.held_rule(batch.visible, seconds)
    return None if rule is None else run_held_batch(batch, node, rule, seconds=seconds, truth=truth)


def _done(columns: RunColumns, progress: Progress | None) -> RunColumns:
    if progress is not None:
        progress(len(columns))
    return columns


def _stepped(
    simulation: Simulation,
    batch: TaskBatch,
    seconds: Durations,
    progress: Progress | None,
    truth: FloatColumn | None = None,
) -> RunColumns:
    outcomes = []
    told = 0
    duration_factors: Iterable[TruthFactor] = batch.duration_factor.tolist()
    if truth is not None:
        duration_factors = map(tuple, (truth * batch.duration_factor[:, None]).tolist())
    for row, (task, duration_factor, one) in enumerate(
        zip(batch, duration_factors, task_seconds(seconds), strict=True)
    ):
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, duration_factor, one)
        if progress is not None and row - told >= _REPORT_EVERY:
            progress(row - told)
            told = row
    outcomes += simulation.drain()
    if progress is not None:
        progress(len(batch) - told)
    return RunColumns.from_outcomes(batch, simulation.cluster.node, outcomes)


def task_seconds(seconds: Durations) -> Iterator[TaskSeconds]:
    """The durations of a batch, task by task.

    One column for each kind of GPU, and a record only when it is asked for: a list of them all would be walked
    through by the garbage collector again and again.
    """
    gpu = zip(*(column.tolist() for column in seconds.gpu_s.T), strict=True)
    paged: Iterator[tuple[float, ...]] = repeat((), len(seconds.cpu_s))
    if seconds.paged_s.size:
        paged = zip(*(column.tolist() for column in seconds.paged_s.T), strict=True)
    made: Callable[[tuple[Any, ...]], TaskSeconds] = partial(tuple.__new__, TaskSeconds)
    return map(made, zip(seconds.cpu_s.tolist(), gpu, paged, strict=True))


def hidden_notes(plan: Plan, known: KnownTasks) -> tuple[str, ...]:
    """What is said about the truth, where something is hidden or somebody is not told it."""
    levels = {plan.knowledge, *(split_level(spec)[1] or plan.knowledge for spec in plan.schedulers)}
    return () if levels == {EXACT} and known.truth.is_the_formula else known.notes


def hardware_assumptions(plan: Plan, batch: TaskBatch) -> tuple[str, ...]:
    """Where the times come from on this node, and what a measured machine leaves to guessing."""
    notes = (*time_notes(batch, plan.node), *idle_notes(batch, plan.node))
    if plan.node.interference:
        notes = (*notes, slowdown_note(plan.node.interference))
    if plan.hardware is None:
        return notes
    from hybrid_ml_scheduler.hardware import assumptions

    return (*notes, *assumptions(Path(plan.hardware), batch))
