"""`hms pipeline`: from measuring the machine to the PDF, phase by phase."""

from __future__ import annotations

import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.pipeline import Pipeline

__all__ = ["pipeline"]

_DEFAULT_TASKS = 1_000
_DEFAULT_SEEDS = 5


class PhaseName(str, Enum):
    """One phase, or all of them."""

    ALL = "all"
    PROFILE = "profile"
    DATA = "data"
    FOREST = "forest"
    AGENT = "agent"
    EVALUATE = "evaluate"
    PLOTS = "plots"
    REPORT = "report"


def pipeline(
    phase: Annotated[PhaseName, typer.Option(help="Do this phase alone; what it reads must be there.")] = PhaseName.ALL,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks of each evaluation (default 1,000).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="First seed of the evaluation (default 0).")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of the evaluation (default 5).")] = None,
    training_tasks: Annotated[
        int, typer.Option(min=50, max=100_000_000, help="Labelled tasks for the forest.")
    ] = 3_000,
    agent_tasks: Annotated[
        int, typer.Option(min=100, max=100_000_000, help="Decisions of a teacher that pre-train the agent.")
    ] = 3_000,
    workload: Annotated[str | None, typer.Option(metavar="PRESET|FILE", help="Default: mixed.")] = None,
    scheduler: Annotated[list[str] | None, typer.Option(help="A strategy to evaluate; repeat (default: all).")] = None,
    gpus: Annotated[int | None, typer.Option(help="Number of GPUs (default 4).")] = None,
    plan: Annotated[Path | None, typer.Option(help="A plan file (.toml, .yaml); flags override it.")] = None,
    hardware: Annotated[
        Path | None, typer.Option(help="Train and evaluate on this profile's numbers instead of the defaults.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Results folder; an interrupted run goes on there.")] = Path(
        "results/pipeline"
    ),
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
) -> None:
    """Profile the machine, make data, train the forest, pre-train the agent, evaluate both frozen, draw and report.

    The agent begins from nothing and is pre-trained on decisions of `earliest_device`; `hms train agent` trains it
    long, and a plan may begin with such a model (`schedulers.rl_agent.model`). A phase that is done is not done again.
    The profile is kept for the record; evaluate on measured numbers with `--hardware`. Training and evaluation never
    meet: a preset trains on seeds from 1,000,000 on, a file on its earlier half; a file that cannot be cut is named.
    """
    from hybrid_ml_scheduler.cli.race_plan import Defaults, Flags, plan_of
    from hybrid_ml_scheduler.schedulers import available

    flags = Flags(
        tasks=tasks,
        seed=seed,
        seeds=seeds,
        workload=workload,
        gpus=gpus,
        schedulers=tuple(scheduler or ()),
        plan=plan,
        hardware=hardware,
    )
    usual = Defaults(schedulers=tuple(available()), tasks=_DEFAULT_TASKS, seeds=_DEFAULT_SEEDS)
    chosen = plan_of(flags, usual)
    folder = _run(chosen, training_tasks, agent_tasks, out, workers, phase)
    if folder.is_complete:
        _tell(folder)
    else:
        typer.echo(f"{folder.path} is not complete yet; run `hms pipeline` with the same options to go on.")


def _run(
    plan: Plan, training_tasks: int, agent_tasks: int, out: Path, workers: int | None, phase: PhaseName
) -> ResultsFolder:
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.plans.inputs import inputs_of
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.pipeline import Pipeline
    from hybrid_ml_scheduler.studies.race import entrants

    entrants(plan)
    plan.tasks(plan.seed)  # a file that cannot be read must not begin a folder
    what = Pipeline(plan=plan, training_tasks=training_tasks, agent_tasks=agent_tasks, engine=LocalEngine(workers))
    folder = ResultsFolder.create(out, kind="pipeline", plan=what.to_mapping(), inputs=inputs_of(plan))
    say_if_compiling()
    with folder:
        _watched(what, folder, phase)
    return folder


def _watched(what: Pipeline, folder: ResultsFolder, phase: PhaseName) -> None:
    """Do the work behind a bar, and say what each phase took."""
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.reports.making import comparison_steps
    from hybrid_ml_scheduler.reports.pipeline import PHASES, run_phase, run_pipeline
    from hybrid_ml_scheduler.studies.race import entrants

    total = comparison_steps(what.plan, entrants(what.plan)) + len(PHASES)
    began = time.monotonic()
    with progress_bar("pipeline", total, unit="steps") as advance:

        def step(name: str) -> None:
            nonlocal began
            advance(1)
            if name in PHASES:
                typer.echo(f"{name}: done in {time.monotonic() - began:.1f} s", err=True)
                began = time.monotonic()

        if phase is PhaseName.ALL:
            run_pipeline(what, folder, step)
        else:
            run_phase(what, folder, phase.value, step)


def _tell(folder: ResultsFolder) -> None:
    from hybrid_ml_scheduler.reports.words import executive_summary

    for sentence in executive_summary(folder.read_json("run.json"), folder.read_table):
        typer.echo(f"- {sentence}")
    typer.echo(f"- {folder.read_table('forest').iloc[0]['separation']}")
    typer.echo(f"Models, tables, plots and report.pdf are in {folder.path}.")
