"""`hms shift`: unsettling the learners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.cli.output.model_output import LAST_TEST_START, MOST_TEST_SEEDS

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
    out: Annotated[Path, typer.Option(help="Results folder; an interrupted run goes on there.")] = Path(
        "results/shift"
    ),
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
    format: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """Train on `gpu_friendly`, judge on `cpu_friendly`: the frozen forest fails, the agent adapts.

    The forest stays as it was trained; the agent goes on learning with a constant epsilon of 0.1 on execution time.
    The folder holds `shift.json`, `tables/`, `plots/` (PNG and SVG) and `report.pdf`. A seed that is done is not done
    again; `hms report` remakes plots and PDF without simulating.
    """
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.studies.shift import ShiftBudget
    from hybrid_ml_scheduler.studies.shift_study import ShiftStudy

    study = ShiftStudy(seed=seed, seeds=seeds, budget=ShiftBudget(test_tasks=tasks))
    folder, result = _studied(study, out, workers)
    if format is Format.JSON:
        print_json(result)
    else:
        _tell(folder, result)


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
