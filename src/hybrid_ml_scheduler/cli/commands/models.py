"""`hms models`: what was measured of every kind on this machine, to list, show, draw, export and forget."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format

if TYPE_CHECKING:
    from hybrid_ml_scheduler.execution.placing.store import KindHistory, PerformanceStore

__all__ = ["app"]

app = typer.Typer(help="What was learned about durations on this machine.", no_args_is_help=True, add_completion=False)
Output = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Kind = Annotated[str, typer.Argument(help="The kind, as `hms models list` names it.")]


def _store() -> PerformanceStore:
    from hybrid_ml_scheduler.execution.placing.store import PerformanceStore, store_folder

    return PerformanceStore(store_folder())


def _histories(kind: str | None = None) -> list[KindHistory]:
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.core.text import nearest_hint

    found = _store().histories()
    if kind is None:
        return found
    mine = [one for one in found if one.kind == kind]
    if not mine:
        raise HmsError(f"Nothing is stored of the kind {kind!r}{nearest_hint(kind, {one.kind: 1 for one in found})}")
    return mine


def _row(one: KindHistory) -> dict[str, Any]:
    seconds = [value for _, value in one.latest]
    return {
        "kind": one.kind,
        "device": one.device,
        "count": one.count,
        "median_s": statistics.median(seconds) if seconds else None,
        "last_seen": time.strftime("%Y-%m-%d %H:%M", time.localtime(one.last_seen)),
    }


@app.command("list")
def list_models(output: Output = Format.TABLE) -> None:
    """List every kind and device with its count, its median and when it was last seen."""
    rows = [_row(one) for one in _histories()]
    if not rows and output is Format.TABLE:
        typer.echo("Nothing has been measured on this machine yet.")
    else:
        _print(rows, "Measured on this machine", output)


def _print(rows: list[dict[str, Any]], title: str, output: Format) -> None:
    from hybrid_ml_scheduler.cli.output.show import print_rows

    if output is Format.JSON:
        typer.echo(json.dumps(rows, indent=1))
    else:
        print_rows(rows, title)


@app.command()
def show(kind: Kind, output: Output = Format.TABLE) -> None:
    """Show what is believed of a kind, size by size."""
    from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations

    mine = _histories(kind)
    learned = LearnedDurations([one.device for one in mine])
    rows = []
    for one in mine:
        learned.learn((kind, one.device, size, seconds) for size, seconds in one.latest)
        for size in sorted({size for size, _ in one.latest})[:20]:
            belief = learned.belief(kind, one.device, size)
            row = {"device": one.device, "size": size, "believed_s": belief.seconds}
            rows.append({**row, "low_s": belief.low_s, "high_s": belief.high_s, "runs": one.count})
    _print(rows, f"{kind}, believed", output)


@app.command()
def plot(kind: Kind, out: Annotated[Path, typer.Option(help="PNG or SVG file to write.")] = Path("model.png")) -> None:
    """Draw the measured seconds of a kind over its size, device by device."""
    from hybrid_ml_scheduler.cli.output.formats import check_place

    check_place("--out", out)
    mine = _histories(kind)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for one in mine:
        axes.scatter([size for size, _ in one.latest], [seconds for _, seconds in one.latest], s=9, label=one.device)
    axes.set(xscale="log", yscale="log", xlabel="size", ylabel="seconds", title=f"{kind}, measured")
    axes.legend()
    figure.savefig(out, dpi=120)
    pyplot.close(figure)
    typer.echo(str(out))


@app.command()
def export(out: Annotated[Path, typer.Option(help="CSV file to write.")] = Path("models.csv")) -> None:
    """Write every stored measurement as CSV."""
    import csv

    from hybrid_ml_scheduler.cli.output.formats import check_place

    check_place("--out", out)
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "device", "size", "seconds"])
        writer.writerows([one.kind, one.device, size, seconds] for one in _histories() for size, seconds in one.latest)
    typer.echo(str(out))


@app.command()
def forget(
    kind: Annotated[str | None, typer.Argument(help="The kind to forget.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget every kind.")] = False,
) -> None:
    """Forget what was measured of a kind, or of all."""
    from hybrid_ml_scheduler.core.errors import HmsError

    if (kind is None) != everything:
        raise HmsError("Name one kind to forget, or say --all.")
    if kind is not None:
        _histories(kind)
    typer.echo(f"Forgot {_store().forget(kind)} kinds.")
