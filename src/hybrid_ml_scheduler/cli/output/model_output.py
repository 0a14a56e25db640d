"""What the commands about learners share: flags, seeds, places to write to, and results on the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format, check_place

if TYPE_CHECKING:
    import pandas as pd

    from hybrid_ml_scheduler.physics import Node
    from hybrid_ml_scheduler.plans.file_tasks import TaskSource

__all__ = [
    "FIRST_TRAINING_SEED",
    "LAST_TEST_START",
    "MOST_TEST_SEEDS",
    "Gpus",
    "Hardware",
    "LearningInputs",
    "Output",
    "PlanFile",
    "Plot",
    "align_columns",
    "check_plot",
    "check_writable",
    "learning_inputs",
    "show",
    "write_plot",
]

# No test may meet a seed that some training saw: those of training begin here, and learners are judged on at most so
# many seeds, of which the first lies low enough for the last one to stay below.
FIRST_TRAINING_SEED = 1_000_000
MOST_TEST_SEEDS = 1_000
LAST_TEST_START = FIRST_TRAINING_SEED - MOST_TEST_SEEDS
PICTURES = (".png", ".svg")


Output = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Gpus = Annotated[
    int | None, typer.Option(help="Number of GPUs, 1 to 1,024 (default 4, or as the plan or profile says).")
]
Hardware = Annotated[Path | None, typer.Option(help="A hardware profile made by `hms profile`.")]
PlanFile = Annotated[Path | None, typer.Option("--plan", help="A plan file: its node and workload; flags win.")]
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
    check_place(flag, place)


def write_plot(name: str, tables: Mapping[str, pd.DataFrame], place: Path | None) -> None:
    """Draw a plot from tables, where one is asked for; the file is there whole or not at all."""
    if place is not None:
        from hybrid_ml_scheduler.reports.plots import draw
        from hybrid_ml_scheduler.studies.folder_files import write_whole

        write_whole(place, draw(name, lambda table: tables[table])[place.suffix[1:]])


def show(result: Mapping[str, Any], table: str, format: Format) -> None:
    """Print the result as JSON, or the table made of it."""
    typer.echo(json.dumps(result, indent=2, allow_nan=False) if format is Format.JSON else table)


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of words in columns: the first to the left, the others to the right."""
    columns = max(len(row) for row in rows)
    full = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(len(row[place]) for row in full) for place in range(columns)]
    lines = []
    for first, *others in full:
        right = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearningInputs:
    """Where tasks to learn from or to be judged on come from, by what name, and on which node they run."""

    names: list[str]
    sources: list[TaskSource]
    node: Node

    @property
    def separation(self) -> str:
        """How training and test lie apart, in words: once where all sources are cut in one way."""
        from hybrid_ml_scheduler.plans.file_tasks import separation_of

        return " ".join(dict.fromkeys(separation_of(one) for one in self.sources))


def learning_inputs(
    workloads: Sequence[str], gpus: int | None, hardware: Path | None, plan: Path | None
) -> LearningInputs:
    """The node and the workloads of the flags, else of the plan, else the defaults; flags win."""
    from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of
    from hybrid_ml_scheduler.plans.file_tasks import FileTasks

    plans = [plan_of(Flags(workload=name, gpus=gpus, hardware=hardware, plan=plan)) for name in workloads or (None,)]
    node = plans[0].node
    choices = [one.workload for one in plans]
    sources = [one.parameters() if one.is_preset else FileTasks(one, node) for one in choices]
    return LearningInputs(names=[one.source for one in choices], sources=sources, node=node)
