"""What `hms train` and `hms evaluate` share: flags, places to write to, and results on the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FIRST_TRAINING_SEED",
    "Format",
    "Gpus",
    "Output",
    "Plot",
    "aligned",
    "check_plot",
    "check_writable",
    "show",
    "stages",
    "write_plot",
]

# No test may meet a seed that some training saw: those of training begin here.
FIRST_TRAINING_SEED = 1_000_000
PICTURES = (".png", ".svg")


class Format(str, Enum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


Output = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Gpus = Annotated[int, typer.Option(min=1, max=64, help="Number of GPUs of the node.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the result as well: a .png or .svg file.")]


def check_plot(place: Path | None) -> None:
    """Refuse a picture that could not be written in the end."""
    if place is not None:
        check_writable("--plot", place, PICTURES)


def check_writable(flag: str, place: Path, endings: Sequence[str]) -> None:
    """Minutes of work must not end at a folder that does not exist or a file that nothing reads."""
    from hybrid_ml_scheduler.core.errors import HmsError

    if place.suffix not in endings:
        raise HmsError(f"{flag} {place} must end in {' or '.join(endings)}.")
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise HmsError(f"{flag} {place} must name a file in a folder that exists.")


def write_plot(name: str, tables: Mapping[str, pd.DataFrame], place: Path | None) -> None:
    """Draw a plot from tables, where one is asked for; the file is there whole or not at all."""
    if place is not None:
        from hybrid_ml_scheduler.experiments.folder import write_whole
        from hybrid_ml_scheduler.experiments.plots import draw

        write_whole(place, draw(name, lambda table: tables[table])[place.suffix[1:]])


def show(result: Mapping[str, Any], table: str, format: Format) -> None:
    """Print the result as JSON, or the table made of it."""
    typer.echo(json.dumps(result, indent=2, allow_nan=False) if format is Format.JSON else table)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of words in columns: the first to the left, the others to the right."""
    columns = max(len(row) for row in rows)
    full = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(len(row[place]) for row in full) for place in range(columns)]
    lines = []
    for first, *others in full:
        right = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar over named stages, on standard error, where a person watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        lines: dict[str, Any] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in lines:
                lines[stage] = progress.add_task(stage, total=total)
            progress.update(lines[stage], completed=done)

        yield tell
