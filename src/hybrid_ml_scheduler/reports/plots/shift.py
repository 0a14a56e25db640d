"""After the shift: who adapts, what the strategies choose, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.plans.metrics import figure as shown
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, bars, name_axes, new_figure, one_axes, strategy_order
from hybrid_ml_scheduler.studies.shift_tables import BEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["shift_adaptation", "shift_by_seed", "shift_choices", "shift_comparison"]

_BOUND = "#dc2626"
_DOT = "#0ea5e9"


def shift_adaptation(read: Read) -> Figure:
    """Execution time along the tasks after the shift, with intervals as bands and the best possible as a line."""
    along = read("along")
    figure, axes = one_axes(7.2, 4.4)
    for name in strategy_order(along):
        rows = along[along["scheduler"] == name]
        if name == BEST:
            axes.plot(rows["tasks"], rows["mean"], color=_BOUND, linestyle="--", lw=1.6, label="best possible")
            continue
        style = style_of(name)
        axes.plot(rows["tasks"], rows["mean"], color=style.colour, linestyle=style.dash, lw=1.8, label=label_of(name))
        axes.fill_between(rows["tasks"], rows["low"], rows["high"], color=style.colour, alpha=0.12, linewidth=0)
    axes.set_ylim(bottom=0.0)
    name_axes(axes, x="tasks since the shift", y="mean execution time (s)", title="Who adapts")
    return figure


def shift_choices(read: Read) -> Figure:
    """The share that each strategy sends to a GPU: the frozen forest stays with what it learned."""
    along = read("along")
    figure, axes = one_axes(7.2, 3.8)
    for name in strategy_order(along):
        if name != BEST:
            rows, style = along[along["scheduler"] == name], style_of(name)
            axes.plot(
                rows["tasks"],
                100.0 * rows["gpu_fraction"],
                color=style.colour,
                linestyle=style.dash,
                lw=1.8,
                label=label_of(name),
            )
    axes.set_ylim(0, 100)
    name_axes(axes, x="tasks since the shift", y="share on a GPU (%)", title="What they choose")
    return figure


def shift_comparison(read: Read) -> Figure:
    """Sum of execution times beside the least possible one, and makespan."""
    means = read("means")
    figure = new_figure(9.2, 3.3)
    panels = figure.subplots(1, 2)
    for axes, metric in zip(panels, ("total_time_s", "makespan_s"), strict=True):
        bars(axes, means[means["metric"] == metric], "seconds")
    panels[1].set_title("Makespan")
    panels[0].set_title("Sum of execution times")
    least = float(read("seeds").drop_duplicates("seed")["best_total_s"].mean())
    panels[0].axvline(least, color=_BOUND, lw=1.6, linestyle="--", label=f"least possible {shown(least)} s")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left")
    return figure


def shift_by_seed(read: Read) -> Figure:
    """The three figures, a dot a seed, with mean and interval."""
    adapted, figures = read("adaptation"), read("figures")
    figure = new_figure(9.2, 3.2)
    ratios, when = figure.subplots(1, 2, gridspec_kw={"width_ratios": [3, 2]})
    names = [name for name in figures["figure"] if name.startswith("frozen_forest")]
    _dots(ratios, adapted, figures, names)
    ratios.axvline(1.0, color=NEUTRAL, lw=1.2, linestyle=":")
    ratios.set_xlim(left=0.0)
    last = names[1].rpartition("_")[2]
    ratios.set_yticks(range(2), [f"last {last} tasks", "all tasks"])
    ratios.set_xlabel("frozen forest's time ÷ agent's time")
    ratios.set_title("The frozen forest against the agent")
    _dots(when, adapted, figures, ["agent_adapted_after"])
    when.set_xlim(left=0.0)
    when.set_yticks([])
    most = int(read("along")["tasks"].max())
    when.set_xlabel(f"tasks until the agent had adapted (at most {most:,})")
    when.set_title("When the agent had adapted")
    return figure


def _dots(axes: Axes, adapted: pd.DataFrame, figures: pd.DataFrame, names: list[str]) -> None:
    table = figures.set_index("figure")
    for place, name in enumerate(reversed(names)):
        values = adapted[name].to_numpy(dtype=float)
        # Beside each other where they would hide one another; nothing random, so that the picture stays the same.
        rise = np.linspace(0.1, 0.32, len(values)) if len(values) > 1 else np.array([0.2])
        axes.scatter(values, place + rise, s=22, color=_DOT, alpha=0.75, linewidths=0)
        row: Any = table.loc[name]
        mean, low, high = float(row["mean"]), float(row["low"]), float(row["high"])
        reach = np.nan_to_num(np.array([[mean - low], [high - mean]]), nan=0.0)
        axes.errorbar(mean, place - 0.12, xerr=reach, fmt="D", color="#0f172a", ms=6, capsize=4, elinewidth=1.4)
    axes.set_ylim(-0.5, len(names) - 0.4)
    axes.grid(visible=False, axis="y")
