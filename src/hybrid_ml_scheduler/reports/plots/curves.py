"""How strategies do along a run: learners come down, the others stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.metrics import figure as shown
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import new_figure, plain_log, strategy_order
from hybrid_ml_scheduler.reports.words import early_and_late

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["learning_curves"]

_OTHERS = "#cbd5e1"
_BEST = "#dc2626"
_MOST_LETTERS = 18


def learning_curves(read: Read) -> Figure:
    """Mean over seeds of execution time over the best possible, window by window; the band is the seeds' range."""
    curves = read("curves")
    names = strategy_order(curves)
    means = {name: _by_tasks(curves, name).mean() for name in names}
    across = min(len(names), 4 if len(names) > 6 else 3)
    down = -(-len(names) // across)
    figure = new_figure(9.2, 0.7 + 1.75 * down)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        for other in names:
            if other != name:
                axes.plot(means[other].index, means[other], color=_OTHERS, lw=0.6)
        _one(axes, curves, name)
    plain_log(panels[0], "y")
    for spare in panels[len(names) :]:
        spare.remove()
    for axes in panels[max(len(names) - across, 0) : len(names)]:  # over a gap in the last row too
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("tasks")
    figure.supylabel("execution time ÷ best possible", fontsize=9)
    return figure


def _one(axes: Axes, curves: pd.DataFrame, name: str) -> None:
    """A strategy in its colour, with its name and where it began and ended."""
    by_tasks, colour = _by_tasks(curves, name), style_of(name).colour
    mean = by_tasks.mean()
    axes.axhline(1.0, color=_BEST, lw=1.0, linestyle="--")
    axes.fill_between(mean.index, by_tasks.min(), by_tasks.max(), color=colour, alpha=0.25, linewidth=0)
    axes.plot(mean.index, mean, color=colour, lw=1.8)
    label = label_of(name)
    axes.set_title(label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…", fontsize=9)
    early, late = early_and_late(curves[(curves["scheduler"] == name) & curves["time_ratio"].notna()])
    axes.text(
        1.0, 1.04, f"{shown(early)} → {shown(late)}", transform=axes.transAxes, ha="right", va="bottom", fontsize=7.5
    )
    axes.locator_params(axis="x", nbins=4)


def _by_tasks(curves: pd.DataFrame, name: str) -> pd.api.typing.SeriesGroupBy:  # type: ignore[type-arg]
    return curves[curves["scheduler"] == name].groupby("tasks")["time_ratio"]
