"""`hms explain`: what if one decision of a run had been another, and which decisions cost most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.race import Entrant
    from hybrid_ml_scheduler.studies.what_if import WhatIf

__all__ = ["explain"]

_LOOKED_AT = 200


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN|PLAN", help="A folder of `hms race --out`, or a plan file.")],
    task: Annotated[
        str | None, typer.Option(metavar="ID", help="The task whose decision is changed, by its id in the file.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose run (default: the only strategy, or the first).")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Which seed of the run (default: its first).")] = None,
    worst: Annotated[int, typer.Option(min=1, max=1000, help="Without --task: list so many of the costliest.")] = 10,
    looked_at: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Without --task: among so many tasks with the longest latency.")
    ] = _LOOKED_AT,
    output: Annotated[Format, typer.Option("--format", help="A table or JSON.")] = Format.TABLE,
) -> None:
    """Simulate a run again with one decision changed to each alternative: the effect on the task and on all others.

    Without `--task`, list the decisions that cost most: those whose best alternative would have shortened the summed
    latency of all tasks the most. For strategies with a compiled form this is a matter of seconds; others are stepped.
    """
    with _where_it_began(run):
        plan = _plan_of(run.resolve() if run.is_dir() else run)
        entrant = _entrant(plan, scheduler)
        chosen = plan.seed if seed is None else seed
        rows, found = _found(plan, entrant, chosen, task, worst, looked_at)
    result = {
        "scheduler": entrant.name,
        "seed": chosen,
        "tasks": [one.to_mapping() for one in found],
        **({} if task is not None else {"looked_at": rows}),
    }
    if output is Format.JSON:
        from hybrid_ml_scheduler.cli.output.show import print_json

        print_json(result)
        return
    from hybrid_ml_scheduler.cli.output.what_if_table import print_costliest, print_task

    if task is None:
        print_costliest(result)
    else:
        print_task(result)


@contextmanager
def _where_it_began(run: Path) -> Iterator[None]:
    """Work in the folder from which a race was started: its own strategy, trace and models may be named from there."""
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    place = ResultsFolder.open(run).started_in if run.is_dir() else None
    here = Path.cwd()
    os.chdir(place or here)
    try:
        yield
    finally:
        os.chdir(here)


def _plan_of(run: Path) -> Plan:
    """The plan of a results folder, or a plan file."""
    from hybrid_ml_scheduler.plans.plan import load_plan, plan_from_mapping
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    if not run.is_dir():
        return load_plan(run)
    folder = ResultsFolder.open(run)
    if folder.kind != "race":
        raise PlanError(f"{run} holds a {folder.kind}; `hms explain` reads the folder of a race, or a plan file.")
    stored = {key: value for key, value in folder.plan.items() if key not in ("digest", "until_decided")}
    return plan_from_mapping(stored, str(run))


def _entrant(plan: Plan, name: str | None) -> Entrant:
    from dataclasses import replace

    from hybrid_ml_scheduler.schedulers import DEFAULT_RACE
    from hybrid_ml_scheduler.studies.race import entrants

    known = entrants(plan if plan.schedulers else replace(plan, schedulers=DEFAULT_RACE))
    if name is None:
        return known[0]
    for one in known:
        if one.name == name:
            return one
    raise PlanError(f"There is no strategy {name!r} in this run; it has {', '.join(one.name for one in known)}.")


def _found(
    plan: Plan, entrant: Entrant, seed: int, task: str | None, worst: int, looked_at: int
) -> tuple[int, list[WhatIf]]:
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
    from hybrid_ml_scheduler.studies.what_if import RunToChange, alternatives_of, costliest, task_called, what_if

    batch = plan.tasks(seed)
    # Refused before anything is compiled.
    chosen = None if task is None else task_called(batch, task)
    say_if_compiling()
    each = len(alternatives_of(batch.task(0)._replace(divisible=True), plan.node))
    known = KnownTasks(
        batch=batch, node=plan.node, truth=plan.hidden, seed=seed, nominal_backlogs=plan.nominal_backlogs
    )
    interval = plan.retrain_interval
    changed = RunToChange(make=entrant.make, known=known, level=entrant.level, retrain_interval=interval)
    rows = 1 if chosen is not None else min(looked_at, len(batch))
    with progress_bar("simulating again", each * rows, unit="runs") as advance:
        if chosen is not None:
            return rows, [what_if(changed, chosen, advance)]
        return rows, costliest(changed, worst, looked_at, advance)
