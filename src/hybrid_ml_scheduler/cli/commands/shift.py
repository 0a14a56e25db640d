"""`hms shift`: unsettling the learners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues, warn_overload
from hybrid_ml_scheduler.cli.output.model_output import LAST_TEST_START, MOST_TEST_SEEDS
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.shift_study import ShiftStudy

__all__ = ["shift"]


def shift(
    seeds: Annotated[
        int, typer.Option(min=1, max=MOST_TEST_SEEDS, help="How many test seeds; from 2 on with intervals.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, max=LAST_TEST_START, help="The first test seed.")] = 0,
    tasks: Annotated[int, typer.Option(min=100, max=100_000_000, help="Tasks after the shift, at least 100.")] = 500,
    workload: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A file of tasks: learners train on its first half and meet its last 40 %."),
    ] = None,
    before: Annotated[str, typer.Option(metavar="PRESET", help="What is learned.")] = "gpu_friendly",
    after: Annotated[str, typer.Option(metavar="PRESET", help="What comes then.")] = "cpu_friendly",
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
        "results/shift"
    ),
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
    format: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """Train on `gpu_friendly`, judge on `cpu_friendly`: the frozen forest fails, the agent adapts.

    With `--workload FILE` train on the earlier part of a file and judge on its later part.

    The forest stays as it was trained; the agent goes on learning with a constant epsilon of 0.1 on execution time.
    The folder holds `shift.json`, `tables/`, `plots/` (PNG and SVG) and `report.pdf`. A seed that is done is not done
    again; `hms report` remakes plots and PDF without simulating.
    """
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.cli.race_plan import Flags, source_of
    from hybrid_ml_scheduler.studies.shift import ShiftBudget
    from hybrid_ml_scheduler.studies.shift_study import ShiftStudy

    flags = Flags(
        workload=workload,
        options=tuple(option or ()),
        columns=tuple(columns or ()),
        where=tuple(where or ()),
        gpus=gpus,
        gpu_type=gpu_type,
    )
    source = source_of(flags)
    if workload is not None and "file" not in source:
        raise PlanError(f"--workload {workload} is a preset; name presets by --before and --after.")
    file = {"file": source["file"], "before": "the earlier part", "after": "the later part"} if workload else {}
    chosen = file or {"before": _preset(before), "after": _preset(after)}
    study = ShiftStudy(seed=seed, seeds=seeds, budget=ShiftBudget(test_tasks=tasks, **chosen), node=source["node"])
    study.assumptions()  # a file that cannot be cut is refused before a folder is begun
    from hybrid_ml_scheduler.plans.overload import overload_words

    warn_overload(overload_words(study.budget.test_batch(study.node, study.seed), study.node), "after the shift: ")
    folder, result = _studied(study, out, workers)
    if format is Format.JSON:
        print_json(result)
    else:
        _tell(folder, result)


def _preset(name: str) -> str:
    from hybrid_ml_scheduler.workload import preset

    preset(name)  # refused with the nearest name
    return name


def _studied(study: ShiftStudy, out: Path, workers: int | None) -> tuple[ResultsFolder, dict[str, Any]]:
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.reports.making import shift_steps, study_shift
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.shift_study import KIND

    folder = ResultsFolder.create(out, kind=KIND, plan=study.to_mapping(), inputs=study.inputs())
    say_if_compiling()
    with folder, progress_bar("shift", shift_steps(study), unit="steps") as advance:
        result = study_shift(folder, study, engine=LocalEngine(workers), step=lambda _: advance(1))
    return folder, result


def _tell(folder: ResultsFolder, result: dict[str, Any]) -> None:
    from hybrid_ml_scheduler.reports.shift_words import shift_summary, shift_text

    typer.echo(shift_text(result))
    for sentence in shift_summary(folder.read_json("run.json"), folder.read_table)[1:]:
        typer.echo(f"- {sentence}")
    typer.echo(f"Tables, plots and report.pdf are in {folder.path}.")
