"""`hms report`: plots and PDF again from stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder, such as results/heavy.")],
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: all cores).")] = None,
) -> None:
    """Remake every plot and the PDF of a results folder without simulating anything.

    The same tables give the same files, byte for byte.
    """
    from hybrid_ml_scheduler.cli.output.progress import progress_bar
    from hybrid_ml_scheduler.reports.making import remake
    from hybrid_ml_scheduler.reports.plots import plots_for
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    found = ResultsFolder.open(folder)
    with progress_bar("drawing", len(plots_for(found.tables(), found.read_table)) + 1, unit="files") as advance:
        remake(found, engine=LocalEngine(workers), step=lambda _: advance(1))
    typer.echo(f"Plots and report.pdf in {folder} are new.")
