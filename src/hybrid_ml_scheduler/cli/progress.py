"""A progress bar on standard error that keeps out of the way of pipes and of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["busy", "progress_bar"]


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
def busy(title: str) -> Iterator[None]:
    """Show that something goes on whose length is not known, where a person watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(title):
            yield
    else:
        yield
