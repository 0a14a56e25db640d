"""A workload as a picture for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.workload.description import described_columns

if TYPE_CHECKING:
    from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch

__all__ = ["show"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BINS = 24
_WIDE = 30.0
_LABELS = {
    "size": "size",
    "compute_intensity": "intensity",
    "memory_required": "memory MB",
    "cpu_time": "CPU time s",
    "gpu_time": "GPU time s",
    "duration_factor": "factor ×",
}
_COLOURS = {"size": "cyan", "compute_intensity": "magenta", "memory_required": "green", "duration_factor": "yellow"}
_FIGURES = ("min", "p50", "mean", "p95", "max")


def show(batch: TaskBatch, description: Mapping[str, Any], console: Console | None = None) -> None:
    """Print histograms, quantiles, arrivals, the graph and the assumptions."""
    parts: list[Table | Text | Panel] = [_columns(batch, description["columns"]), _arrivals(batch, description)]
    if description["graph"]["edges"]:
        parts.append(_graph(description["graph"]))
    if description["assumptions"]:
        parts.append(_assumptions(description["assumptions"]))
    (console or Console()).print(Group(*parts))


def _number(value: float | None) -> str:
    """Three digits, with k, M, G for the large."""
    if value is None:
        return "–"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def bars(column: FloatColumn, bins: int = _BINS) -> tuple[str, bool]:
    """Return a histogram as one line of blocks, and whether its axis is logarithmic (long tails need it)."""
    known = column[~np.isnan(column)]
    low, high = float(known.min()), float(known.max())
    logarithmic = low > 0.0 and high / low > _WIDE
    edges = np.geomspace(low, high, bins + 1) if logarithmic else np.linspace(low, high, bins + 1)
    if low == high:
        return _BLOCKS[-1], False
    edges[0], edges[-1] = low, high
    counts = np.histogram(known, bins=edges)[0]
    heights = np.ceil(counts / counts.max() * (len(_BLOCKS) - 1)).astype(int)
    return "".join(_BLOCKS[height] for height in heights), logarithmic


def _columns(batch: TaskBatch, columns: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title=amount(len(batch), "task"), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("column", no_wrap=True)
    table.add_column("smallest to largest", no_wrap=True)
    table.add_column("axis", no_wrap=True, style="dim")
    for name in _FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    values = described_columns(batch)
    for name, summary in columns.items():
        picture, logarithmic = bars(values[name])
        figures = (_number(summary[key]) for key in _FIGURES)
        shape = Text(picture, style=_COLOURS.get(name, "blue"))
        table.add_row(_LABELS.get(name, f"{name} s"), shape, "log" if logarithmic else "", *figures)
    return table


def _arrivals(batch: TaskBatch, description: Mapping[str, Any]) -> Text:
    arrivals = description["arrivals"]
    text = Text("\n").append("arrivals  ", style="bold")
    if arrivals["rate_per_s"] is None:
        return text.append("all at the same time")
    rate, span = _number(arrivals["rate_per_s"]), _number(arrivals["last_s"] - arrivals["first_s"])
    variation, longest = _number(arrivals["gap_cv"]), _number(arrivals["longest_gap_s"])
    text.append(bars_over_time(batch.arrival_time), style="blue")
    text.append(f"  {rate} /s over {span} s")
    return text.append(f"\n          gap variation {variation} (1 = Poisson), longest gap {longest} s", style="dim")


def bars_over_time(times: FloatColumn) -> str:
    """Return how many tasks arrive in each slice of time, as one line of blocks."""
    counts = np.histogram(times, bins=_BINS)[0]
    return "".join(_BLOCKS[height] for height in np.ceil(counts / counts.max() * (len(_BLOCKS) - 1)).astype(int))


def _graph(graph: Mapping[str, int]) -> Text:
    text = Text().append("graph     ", style="bold")
    return text.append(
        f"{amount(graph['edges'], 'edge')}, {amount(graph['tasks_with_parents'], 'task')} with parents\n"
        f"          at most {amount(graph['most_parents'], 'parent')}, "
        f"depth {graph['depth']:,}, width {graph['width']:,}"
    )


def _assumptions(assumptions: list[str]) -> Panel:
    lines = Text()
    for place, assumption in enumerate(assumptions):
        name, _, text = assumption.partition(": ")
        lines.append("\n" if place else "").append(name, style="bold yellow").append(f"  {text}")
    return Panel(lines, title="how these tasks came about", title_align="left", border_style="yellow")
