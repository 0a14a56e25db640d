"""How latencies of single tasks are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import (
    NEUTRAL,
    labels,
    marks,
    name_axes,
    one_axes,
    plain_log,
    strategy_order,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["latency_boxplot", "latency_cdf"]

_MOST_STEPS = 1_000


def _latencies(tasks: pd.DataFrame) -> dict[str, np.ndarray]:
    """Sorted latencies of every strategy, failed tasks left out."""
    found = {}
    for name in strategy_order(tasks):
        column = tasks.loc[tasks["scheduler"] == name, "latency_s"].to_numpy(dtype=float)
        found[name] = np.sort(column[np.isfinite(column)])
    return {name: column for name, column in found.items() if len(column)}


def latency_cdf(read: Read) -> Figure:
    """The share of tasks that are done within a latency."""
    figure, axes = one_axes(7.2, 4.6)
    columns = _latencies(read("tasks"))
    for place, (name, column) in enumerate(columns.items()):
        share = np.arange(1, len(column) + 1) / len(column)
        keep = np.unique(np.linspace(0, len(column) - 1, _MOST_STEPS).astype(int))
        axes.plot(column[keep], share[keep], lw=1.6, label=label_of(name), **marks(name, place, len(keep)))
    plain_log(axes, "x")
    # The first per cent would take half of a logarithmic axis.
    axes.set_xlim(left=min((float(np.quantile(column, 0.01)) for column in columns.values()), default=None))
    axes.set_ylim(0, 1)
    name_axes(axes, x="latency (s)", y="share of tasks", title="Latency, cumulative")
    return figure


def latency_boxplot(read: Read) -> Figure:
    """Boxes of latency, the lowest median on top."""
    columns = _latencies(read("tasks"))
    names = sorted(columns, key=lambda name: -float(np.median(columns[name])))
    figure, axes = one_axes(7.2, 0.8 + 0.36 * len(names))
    boxes = axes.boxplot(
        [columns[name] for name in names],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        widths=0.62,
        medianprops={"color": "#0f172a", "linewidth": 1.6},
        whiskerprops={"color": NEUTRAL},
        capprops={"color": NEUTRAL},
        boxprops={"edgecolor": NEUTRAL, "linewidth": 0.8},
    )
    for name, box in zip(names, boxes["boxes"], strict=True):
        box.set_facecolor(style_of(name).colour)
    plain_log(axes, "x")
    axes.set_yticks(np.arange(1, len(names) + 1), labels(names))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("latency (s)")
    axes.set_title("Latency of single tasks")
    return figure
