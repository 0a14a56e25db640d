"""`hms heavy`: 10,000 tasks, every strategy, plots, tables and a PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.core.text import amount

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

__all__ = ["heavy", "report"]

EVERY = "all"
REPORT_NAME = "heavy_simulation_report.csv"
DEFAULT_TASKS = 10_000
DEFAULT_SEEDS = 3
_RUN_S = 11.0  # processor seconds of an average run of 10,000 tasks, over every strategy


def heavy(
    tasks: Annotated[int | None, typer.Option(min=1, help="How many tasks (default 10,000).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of every random stream (default 0).")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds (default 3).")] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="PRESET|FILE", help="Preset or trace file (default: heavy).")
    ] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A strategy: name, name@level or file.py:Class; repeat for more. `all`: every one."
        ),
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="What strategies know of durations: exact, nominal or learned (default)."),
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="Number of GPUs (default 4).")] = None,
    plan: Annotated[Path | None, typer.Option(help="A plan file (.toml, .yaml); flags override it.")] = None,
    hardware: Annotated[Path | None, typer.Option(help="A hardware profile made by `hms profile`.")] = None,
    out: Annotated[Path, typer.Option(help="Results folder; an interrupted run goes on there.")] = Path(
        "results/heavy"
    ),
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
    output: Annotated[
        Format, typer.Option("--format", help="A summary for people or JSON for programs.")
    ] = Format.TABLE,
) -> None:
    """Simulate a heavy load and write tables, plots and a PDF report.

    Without flags: 10,000 tasks of the preset `heavy`, three seeds, the strategies of `hms race` with `cpu_only` and
    `gpu_only`. `--scheduler all` runs every strategy and says beforehand how long that takes.
    The folder holds `heavy_simulation_report.csv`, `tables/`, `plots/` (PNG and SVG) and `report.pdf`. With `--seeds 1`
    there are no intervals and no winners.
    """
    from hybrid_ml_scheduler.cli.race_plan import Defaults, Flags, plan_of
    from hybrid_ml_scheduler.core.knowledge import LEARNED
    from hybrid_ml_scheduler.schedulers import DEFAULT_RACE, available

    names = tuple(scheduler or ())
    flags = Flags(
        tasks=tasks,
        seed=seed,
        seeds=seeds,
        workload=workload,
        gpus=gpus,
        schedulers=tuple(available()) if names == (EVERY,) else names,
        plan=plan,
        hardware=hardware,
        knowledge=knowledge,
    )
    usual = Defaults(
        schedulers=(*DEFAULT_RACE, "cpu_only", "gpu_only"),
        workload="heavy",
        tasks=DEFAULT_TASKS,
        seeds=DEFAULT_SEEDS,
        knowledge=LEARNED,
    )
    chosen = plan_of(flags, usual)
    if names == (EVERY,):
        typer.echo(_expected_time(chosen, workers), err=True)
    folder = _compared(chosen, out, workers)
    _tell(folder, output)


def _expected_time(plan: Plan, workers: int | None) -> str:
    """How long all strategies will take, from what an average run took when it was measured."""
    import os

    runs, tasks = len(plan.schedulers) * plan.seeds, plan.workload.num_tasks or DEFAULT_TASKS
    processes = workers or max(1, len(os.sched_getaffinity(0)))
    minutes = runs * _RUN_S * tasks / DEFAULT_TASKS / processes / 60.0
    return (
        f"{len(plan.schedulers)} strategies on {amount(plan.seeds, 'seed')} take about {max(minutes, 1.0):.0f} min "
        f"with {amount(processes, 'process', 'processes')}. Ctrl-C loses nothing: the same command goes on."
    )


def _compared(plan: Plan, out: Path, workers: int | None) -> ResultsFolder:
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.plans.inputs import inputs_of
    from hybrid_ml_scheduler.reports.making import comparison_steps, study_comparison
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.race import entrants

    strategies = entrants(plan)
    plan.tasks(plan.seed)  # a file that cannot be read must not begin a folder
    folder = ResultsFolder.create(out, kind="heavy", plan=plan.to_mapping(), inputs=inputs_of(plan))
    say_if_compiling()
    with folder, progress_bar("heavy", comparison_steps(plan, strategies), unit="steps") as advance:
        engine = LocalEngine(workers)
        study_comparison(folder, plan, strategies, report_name=REPORT_NAME, engine=engine, step=lambda _: advance(1))
    return folder


def _tell(folder: ResultsFolder, output: Format) -> None:
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.reports.words import executive_summary

    sentences = executive_summary(folder.read_json("run.json"), folder.read_table)
    if output is Format.JSON:
        files = sorted(path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*") if path.is_file())
        print_json({"out": str(folder.path), "complete": folder.is_complete, "summary": sentences, "files": files})
        return
    for sentence in sentences:
        typer.echo(f"- {sentence}")
    typer.echo(f"Tables, plots and report.pdf are in {folder.path}.")


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder, such as results/heavy.")],
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
) -> None:
    """Remake every plot and the PDF of a results folder without simulating anything.

    The same tables give the same files, byte for byte.
    """
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.reports.making import remake
    from hybrid_ml_scheduler.reports.plots import plots_for
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    found = ResultsFolder.open(folder)
    with progress_bar("drawing", len(plots_for(found.tables(), found.read_table)) + 1, unit="files") as advance:
        remake(found, engine=LocalEngine(workers), step=lambda _: advance(1))
    typer.echo(f"Plots and report.pdf in {folder} are new.")
