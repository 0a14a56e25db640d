"""`hms sweep`: a grid of plans on all cores or on a Ray cluster."""

from __future__ import annotations

import json
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format, warn_overload
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.ray_engine import RayEngine
    from hybrid_ml_scheduler.studies.sweep import Sweep

__all__ = ["sweep"]


class EngineName(str, Enum):
    """Where the cells run."""

    LOCAL = "local"
    RAY = "ray"


def sweep(
    file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan (.toml, .yaml) with a section [sweep].")],
    out: Annotated[Path, typer.Option(help="Results folder; an interrupted sweep goes on there.")] = Path(
        "results/sweep"
    ),
    engine: Annotated[EngineName, typer.Option(help="Processes of this machine, or a Ray cluster.")] = EngineName.LOCAL,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Address of a running Ray cluster, host:port (default: start one here)."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes on this machine (default: all cores).")
    ] = None,
    output: Annotated[
        Format, typer.Option("--format", help="A summary for people or JSON for programs.")
    ] = Format.TABLE,
) -> None:
    """Run a grid of plans: one table of all cells, plots along the grid and a PDF report.

    The folder holds `tables/` (Parquet and CSV), `plots/` (PNG and SVG) and `report.pdf`. Every plan is checked before
    the first cell runs. A failed cell is reported and the rest goes on; the command then ends with code 1, and running
    it again tries only what is missing. The tables are the same from every engine.
    """
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.reports.making import study_sweep, sweep_steps
    from hybrid_ml_scheduler.studies.engines import LocalEngine
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.sweep import KIND, load_sweep

    if address is not None and engine is not EngineName.RAY:
        raise PlanError("--address goes with --engine ray.")
    found = load_sweep(file)
    folder = ResultsFolder.create(out, kind=KIND, plan=found.source, inputs=found.inputs())
    _warn(found)
    chosen = _engine(engine, address, workers)
    with folder, progress_bar("sweeping", sweep_steps(found), unit="steps") as advance:
        failures = study_sweep(found, folder, chosen, local=LocalEngine(workers), step=lambda _: advance(1))
    _tell(found, folder, failures, chosen, output)
    if failures:
        raise typer.Exit(1)


def _warn(sweep: Sweep) -> None:
    """Say once how many points of the grid are overloaded, and how the first of them is."""
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.core.text import amount
    from hybrid_ml_scheduler.plans.overload import overload_words
    from hybrid_ml_scheduler.studies.trials import known_tasks

    points = {json.dumps(dict(cell.point), sort_keys=True): cell for cell in reversed(sweep.cells)}
    said = []
    for cell in reversed(points.values()):
        words = None
        with suppress(HmsError):  # the cell itself reports why it fails
            known = known_tasks(cell.plan, cell.seed)
            words = overload_words(known.batch, known.node, known.true)
        if words is not None:
            said.append((", ".join(f"{key} = {value}" for key, value in cell.point.items()), words))
    if said:
        where = f"{len(said)} of {amount(len(points), 'point')} of the grid are overloaded; {said[0][0]}: "
        warn_overload(said[0][1], where)


def _engine(name: EngineName, address: str | None, workers: int | None) -> LocalEngine | RayEngine:
    if name is EngineName.RAY:
        from hybrid_ml_scheduler.studies.ray_engine import RayEngine

        return RayEngine(address, workers)
    from hybrid_ml_scheduler.studies.engines import LocalEngine

    return LocalEngine(workers)


def _tell(
    sweep: Sweep, folder: ResultsFolder, failures: dict[str, str], engine: LocalEngine | RayEngine, output: Format
) -> None:
    from hybrid_ml_scheduler.reports.sweep_words import sweep_summary

    nodes = len(getattr(engine, "nodes", ())) or 1
    sentences = sweep_summary(folder.read_json("run.json"), folder.read_table) if folder.tables() else []
    done = len(sweep.cells) - len(failures)
    if output is Format.JSON:
        from hybrid_ml_scheduler.cli.output.show import print_json

        facts: dict[str, Any] = {"cells": len(sweep.cells), "done": done, "failures": failures, "nodes": nodes}
        print_json({**facts, "out": str(folder.path), "summary": sentences})
        return
    for sentence in sentences[1:]:
        typer.echo(f"- {sentence}")
    where = f"Tables, plots and report.pdf are in {folder.path}." if sentences else "There is nothing to draw yet."
    typer.echo(f"{done} of {len(sweep.cells)} cells are done. {where}")
    for label, reason in failures.items():
        typer.echo(f"failed: {label}: {reason}", err=True)
    if failures:
        typer.echo("Run the same command again to try the failed cells once more.", err=True)
