"""`hms shift`: unsettling the learners."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["shift"]

# No test may meet a seed that some training saw: tests take at most 1,000 seeds from one below a million on.
_LAST_TEST_SEED = 999_000


class Format(str, Enum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def shift(
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How many test seeds; from 2 on with intervals.")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=_LAST_TEST_SEED, help="The first test seed.")] = 0,
    tasks: Annotated[int, typer.Option(min=100, help="Tasks after the shift.")] = 500,
    out: Annotated[Path | None, typer.Option(help="A folder for shift.json and shift.png.")] = None,
    format: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """Train on `gpu_friendly`, judge on `cpu_friendly`: the frozen forest fails, the agent adapts.

    The forest stays as it was trained; the agent goes on learning with a constant epsilon of 0.1 on execution time.
    """
    from hybrid_ml_scheduler.cli.progress import progress_bar
    from hybrid_ml_scheduler.cli.show import print_json
    from hybrid_ml_scheduler.experiments.shift import ShiftBudget, run_shift, shift_result
    from hybrid_ml_scheduler.experiments.shift_files import shift_table, write_shift
    from hybrid_ml_scheduler.physics import Node

    with progress_bar("shift", seeds + 1, unit="runs") as advance:
        runs = run_shift(Node(), range(seed, seed + seeds), ShiftBudget(test_tasks=tasks), lambda _: advance(1))
    result = shift_result(runs)
    if out is not None:
        write_shift(runs, result, out)
    if format is Format.JSON:
        print_json(result)
    else:
        typer.echo(shift_table(result))
