"""`hms knowledge`: strategies at every level of knowledge, and the price of not knowing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues, warn_overload
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.validation import MOST_SEED

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

__all__ = ["knowledge"]


def knowledge(
    tasks: Annotated[int, typer.Option(min=100, max=1_000_000, help="How many tasks a run has.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED - 1000, help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Number of seeds.")] = 5,
    load: Annotated[
        list[float] | None,
        typer.Option(min=0.01, max=2.0, help="A load of the true capacity; repeat for more (default 0.5, 0.8, 0.95)."),
    ] = None,
    scheduler: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A strategy without a level; repeat for more.")
    ] = None,
    spread: Annotated[float, typer.Option(min=0.0, max=3.0, help="Spread of the hidden factors (logarithm).")] = 0.5,
    workload: Annotated[
        str, typer.Option(metavar="PRESET|FILE", help="A preset, or a file of tasks, whose last 40 % are raced.")
    ] = "unknown",
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A figure of a trace assumption; repeat for more.")
    ] = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    gpus: Annotated[int | None, typer.Option(help="Number of GPUs (default 4).")] = None,
    gpu_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Type of all GPUs, e.g. h200; `hms nodes` lists them.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Results folder; an interrupted run goes on there.")] = Path(
        "results/knowledge"
    ),
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
    output: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """Say what it costs not to know how long tasks take, and how much of that can be learned.

    Every strategy meets the same tasks of the preset `unknown` (or of `--workload`) at three levels: `exact` (told the
    truth), `nominal` (told the formula, of a file what was known before a task ran) and `learned` (starts with that and
    learns from what it saw finish). The folder holds `tables/`, `plots/` (PNG and SVG) and `report.pdf`.
    """
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.cli.race_plan import Flags, source_of
    from hybrid_ml_scheduler.plans.overload import overload_words
    from hybrid_ml_scheduler.reports.making import KNOWLEDGE_STEPS, study_knowledge
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.knowledge import STRATEGIES
    from hybrid_ml_scheduler.studies.knowledge_study import KIND, PriceStudy

    names = _checked(tuple(scheduler or STRATEGIES))
    loads = tuple(sorted(set(load or (0.5, 0.8, 0.95))))
    source = source_of(
        Flags(
            workload=workload,
            options=tuple(option or ()),
            columns=tuple(columns or ()),
            where=tuple(where or ()),
            gpus=gpus,
            gpu_type=gpu_type,
        )
    )
    study = PriceStudy(tasks=tasks, seed=seed, seeds=seeds, loads=loads, strategies=names, kind_spread=spread, **source)
    study.tasks_of_a_run()  # a file that cannot be cut is refused before a folder is begun
    for trial in study.trials()[:: study.seeds]:
        known = trial.study.known_tasks(trial.load, trial.seed)
        warn_overload(overload_words(known.batch, known.node, known.true), f"load {trial.load:g}: ")
    folder = ResultsFolder.create(out, kind=KIND, plan=study.to_mapping(), inputs=study.inputs())
    say_if_compiling()
    steps = len(study.trials()) + KNOWLEDGE_STEPS
    with folder, progress_bar("knowledge", steps, unit="steps") as advance:
        study_knowledge(folder, study, engine=LocalEngine(workers), step=lambda _: advance(1))
    _tell(folder, output)


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names without a level, each once, that can be made."""
    from hybrid_ml_scheduler.core.knowledge import split_level
    from hybrid_ml_scheduler.schedulers import create

    for name in names:
        if split_level(name)[1] is not None:
            raise PlanError(f"--scheduler {name}: every strategy is raced at all levels; name it without one.")
        if getattr(create(name), "knows", None) is not None:
            raise PlanError(f"--scheduler {name} has a level of its own, so there is nothing to compare.")
    if len(set(names)) < len(names):
        raise PlanError("--scheduler names a strategy more than once.")
    return names


def _tell(folder: ResultsFolder, output: Format) -> None:
    from hybrid_ml_scheduler.cli.output.show import page, print_json
    from hybrid_ml_scheduler.reports.knowledge_report import HEAD, knowledge_summary, rows_of, table_rows

    if output is Format.JSON:
        print_json({"out": str(folder.path), "rows": rows_of(folder), "summary": knowledge_summary(folder)})
        return
    from rich.table import Table

    table = Table(*HEAD)
    for row in table_rows(folder):
        table.add_row(*row)
    page().print(table)
    for sentence in knowledge_summary(folder):
        typer.echo(f"- {sentence}")
    typer.echo(f"Tables, plots and report.pdf are in {folder.path}.")
