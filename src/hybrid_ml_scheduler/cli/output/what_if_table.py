"""The tables that `hms explain` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page
from hybrid_ml_scheduler.plans.metrics import figure

__all__ = ["print_costliest", "print_task"]


def print_task(result: Mapping[str, Any]) -> None:
    """Every alternative for one task, the best for all tasks first."""
    (found,) = result["tasks"]
    title = f"Task {found['task_id']} of {result['scheduler']}, seed {result['seed']}: {_place(found)}, latency "
    table = _table(
        title + f"{_seconds(found['latency_s'])} s", ("instead",), ("latency s", "change", "others", "total")
    )
    for one in found["alternatives"]:
        changes = (one["latency_change_s"], one["others_change_s"], one["total_change_s"])
        table.add_row(_place(one), _seconds(one["latency_s"]), *(_signed(value) for value in changes))
    console = page()
    console.print(table)
    regret = found["regret_s"]
    said = "No alternative would have shortened the summed latency of all tasks."
    if regret > 0.0:
        best = found["alternatives"][0]
        said = f"{_place(best)} would have shortened the summed latency of all tasks by {figure(regret)} s."
    console.print(said, highlight=False)


def print_costliest(result: Mapping[str, Any]) -> None:
    """The decisions that cost most, the costliest first."""
    table = _table(
        f"The decisions of {result['scheduler']} that cost most, seed {result['seed']}",
        ("task", "decided", "better"),
        ("latency s", "cost to all s"),
    )
    for found in result["tasks"]:
        better = _place(found["alternatives"][0]) if found["regret_s"] > 0.0 else "–"
        cells = (str(found["task_id"]), _place(found), better)
        table.add_row(*cells, _seconds(found["latency_s"]), figure(found["regret_s"]))
    console = page()
    console.print(table)
    console.print(
        f"Cost: by how much the best alternative would have shortened the summed latency of all tasks. The "
        f"{result['looked_at']:,} tasks with the longest latency were looked at.",
        highlight=False,
    )


def _table(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for heading in words:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _place(one: Mapping[str, Any]) -> str:
    share = one["gpu_fraction"]
    return str(one["device"]) if share in (0.0, 1.0) else f"{one['device']} ({share:.0%} on the GPU)"


def _seconds(value: float | None) -> str:
    return "–" if value is None else figure(value)


def _signed(value: float | None) -> str:
    return "fails" if value is None else f"{'+' if value > 0 else ''}{figure(value)}"
