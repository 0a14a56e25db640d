"""Bars with intervals: makespan, execution time, speed-up, cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.metrics import figure as shown
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, bars, new_figure, one_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["avg_duration_comparison", "cost_comparison", "makespan_comparison", "speedup_comparison"]


def _rows(intervals: pd.DataFrame, metric: str) -> pd.DataFrame:
    found = intervals[intervals["metric"] == metric]
    return found[found["mean"].notna()]


def _height(rows: pd.DataFrame) -> float:
    return 1.1 + 0.34 * len(rows)


def _bound_line(axes: Axes, bound: float) -> None:
    axes.axvline(bound, color="#dc2626", lw=1.6, linestyle="--", label=f"proven lower bound {shown(bound)} s")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _with_bound(read: Read, metric: str, bound: str, title: str) -> Figure:
    rows = _rows(read("intervals"), metric)
    figure, axes = one_axes(7.2, _height(rows))
    bars(axes, rows, "s")
    # One bound a seed; the bars are means over seeds, and so is the line.
    _bound_line(axes, float(read("metrics").drop_duplicates("seed")[bound].mean()))
    axes.set_title(title)
    return figure


def makespan_comparison(read: Read) -> Figure:
    """Makespan of every strategy beside the bound that none can beat."""
    return _with_bound(read, "makespan_s", "makespan_bound_s", "Makespan")


def avg_duration_comparison(read: Read) -> Figure:
    """Mean execution time of every strategy beside its bound."""
    return _with_bound(read, "mean_time_s", "mean_time_bound_s", "Mean execution time")


def speedup_comparison(read: Read) -> Figure:
    """How many times better than round robin, in makespan and in execution time."""
    intervals = read("intervals")
    rows = [_rows(intervals, metric) for metric in ("speedup_makespan", "speedup_time")]
    figure = new_figure(9.2, _height(rows[0]))
    panels = figure.subplots(1, 2)
    for axes, found, title in zip(panels, rows, ("makespan", "execution time"), strict=True):
        bars(axes, found, "× round robin", ascending=False)
        axes.axvline(1.0, color=NEUTRAL, lw=1.2, linestyle=":")
        axes.set_title(f"Speed-up in {title}")
    return figure


def cost_comparison(read: Read) -> Figure:
    """Rent and electricity, with the two simplest policies as lines."""
    intervals = read("intervals")
    rows = [_rows(intervals, metric) for metric in ("rental_usd", "electricity_usd")]
    figure = new_figure(9.2, _height(rows[0]) + 0.3)
    panels = figure.subplots(1, 2)
    for axes, found, title in zip(panels, rows, ("Rent", "Electricity"), strict=True):
        bars(axes, found, "$")
        for name in ("cpu_only", "gpu_only"):
            for mean in found.loc[found["scheduler"] == name, "mean"]:
                axes.axvline(float(mean), color=style_of(name).colour, lw=1.4, linestyle="--", label=label_of(name))
        axes.set_title(title)
    if panels[0].get_legend_handles_labels()[0]:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
