"""How a command prints its result, where its files may go, and how it shows that it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

__all__ = [
    "ColumnNames",
    "Format",
    "RowValues",
    "check_place",
    "progress_bar",
    "row_count",
    "stages",
    "steps",
    "warn_overload",
]


class Format(str, Enum):
    """A table for people or JSON for programs."""

    TABLE = "table"
    JSON = "json"


ColumnNames = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="OURS=THEIRS", help="A column of a foreign CSV, e.g. duration=run_s; repeat."),
]
RowValues = Annotated[
    list[str] | None,
    typer.Option(
        "--where", metavar="COLUMN=VALUE", help="Only rows with this value, e.g. status=COMPLETED; repeat for more."
    ),
]


def warn_overload(words: str | None, where: str = "") -> None:
    """Say on standard error that a device gets more work than it can do; `where` names the case."""
    if words is not None:
        typer.echo(f"Warning: {where}{words}", err=True)


def check_place(flag: str, place: Path) -> None:
    """Refuse a file that could not be written in the end, before any work is done for it.

    A device such as /dev/null is refused too: files are written apart and then take their name, which would
    replace the device by a file.
    """
    import tempfile

    from hybrid_ml_scheduler.core.errors import HmsError

    folder = place.absolute().parent
    try:
        if place.is_dir() or not folder.is_dir():
            raise HmsError(f"{flag} {place} must name a file in a folder that exists.")
        if place.exists() and not place.is_file():
            raise HmsError(f"{flag} {place} must name a plain file, which a device or a pipe is not.")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise HmsError(f"{flag} {place} cannot be written: {reason}.") from error


@contextmanager
def progress_bar(title: str, total: float, *, unit: str = "tasks") -> Iterator[Callable[[float], None]]:
    """Yield a function that moves the bar; the bar appears only where a person watches."""
    with _shown(*_bar(unit)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar over named stages, on standard error, where a person watches."""
    with _shown(*_bar()) as bar:
        lines: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in lines:
                lines[stage] = bar.add_task(stage, total=total)
            bar.update(lines[stage], completed=done)

        yield tell


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """One bar over all steps whose words say which one is being done, on standard error, where a person watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with _shown(*columns) as bar:
        line = bar.add_task("starting", total=None)
        yield lambda label, done, total: bar.update(line, description=label, completed=done, total=total)


@contextmanager
def row_count() -> Iterator[Callable[[int], None]]:
    """Yield a function that tells how many rows are written, where nobody knows how many there will be."""
    from rich.progress import SpinnerColumn, TextColumn

    with _shown(SpinnerColumn(), TextColumn("{task.completed:,} rows written")) as counter:
        line = counter.add_task("rows", total=None)
        yield lambda rows: counter.update(line, completed=rows)


def _bar(unit: str = "") -> list[ProgressColumn]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    counted = [MofNCompleteColumn(), *([TextColumn(unit)] if unit else [])]
    return [TextColumn("{task.description}"), BarColumn(), *counted, TimeRemainingColumn()]


def _shown(*columns: ProgressColumn) -> Progress:
    """The one way in which progress is shown: on standard error, gone at the end, and only to a person."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
