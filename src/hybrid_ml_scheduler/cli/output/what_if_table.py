"""The tables that `hms explain` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import figure

__all__ = ["print_costliest", "print_task"]


def print_task(result: Mapping[str, Any]) -> None:
    """Every alternative for one task, the best for all tasks first."""
    (found,) = result["tasks"]
    title = f"Task {_name(found)} of {result['scheduler']}, seed {result['seed']}: {_place(found)}, latency "
    table = _table(
        title + f"{_seconds(found['latency_s'])} s", ("instead",), ("latency s", "change", "others", "total")
    )
    for place, one in _grouped(found["alternatives"]):
        changes = (one["latency_change_s"], one["others_change_s"], one["total_change_s"])
        table.add_row(place, _seconds(one["latency_s"]), *(_signed(value) for value in changes))
    console = page()
    console.print(table)
    regret = found["regret_s"]
    said = "No alternative would have shortened the summed latency of all tasks."
    if regret > 0.0:
        best, _ = _grouped(found["alternatives"])[0]
        said = (
            f"{best[0].upper()}{best[1:]} would have shortened the summed latency of all tasks by {figure(regret)} s."
        )
    console.print(said, highlight=False)


def _name(found: Mapping[str, Any]) -> str:
    """What the user calls the task."""
    return str(found.get("label", found["task_id"]))


def print_costliest(result: Mapping[str, Any]) -> None:
    """The decisions that cost most, the costliest first."""
    table = _table(
        f"The decisions of {result['scheduler']} that cost most, seed {result['seed']}",
        ("task", "decided", "better"),
        ("latency s", "cost to all s"),
    )
    for found in result["tasks"]:
        better = _place(found["alternatives"][0]) if found["regret_s"] > 0.0 else "–"
        cells = (_name(found), _place(found), better)
        table.add_row(*cells, _seconds(found["latency_s"]), figure(found["regret_s"]))
    console = page()
    console.print(table)
    console.print(
        f"Cost: by how much the best alternative would have shortened the summed latency of all tasks. The "
        f"{amount(result['looked_at'], 'task')} with the longest latency "
        f"{'was' if result['looked_at'] == 1 else 'were'} looked at.",
        highlight=False,
    )


def _table(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for heading in words:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _grouped(alternatives: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every alternative with its place in words; GPUs on which all would have gone alike share a row."""
    groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for one in alternatives:
        alike = tuple(value for key, value in one.items() if key != "device")
        groups.setdefault(alike, []).append(one)
    return [(_places(group), group[0]) for group in groups.values()]


def _places(group: Sequence[Mapping[str, Any]]) -> str:
    """One place, or any of several."""
    if len(group) == 1:
        return _place(group[0])
    names = ", ".join(str(one["device"]).removeprefix("cpu+") for one in group)
    return _place({**group[0], "device": f"any of {names}"})


def _place(one: Mapping[str, Any]) -> str:
    share = one["gpu_fraction"]
    return str(one["device"]) if share in (0.0, 1.0) else f"{one['device']} ({share:.0%} on the GPU)"


def _seconds(value: float | None) -> str:
    return "–" if value is None else figure(value)


def _signed(value: float | None) -> str:
    return "fails" if value is None else f"{'+' if value > 0 else ''}{figure(value)}"
