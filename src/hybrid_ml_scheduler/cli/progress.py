"""A progress bar on standard error that keeps out of the way of pipes and of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress_bar", "stages"]


@contextmanager
def progress_bar(title: str, total: float, *, unit: str = "tasks") -> Iterator[Callable[[float], None]]:
    """Yield a function that moves the bar; the bar appears only where a person watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)


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
