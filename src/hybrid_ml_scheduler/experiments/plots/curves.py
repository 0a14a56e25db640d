"""How strategies do along a run: learners come down, the others stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.experiments.palette import label_of, style_of
from hybrid_ml_scheduler.experiments.plots.axes import marks, named, one_axes, ordered, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.experiments.plots.drawing import Read

__all__ = ["learning_curves"]


def learning_curves(read: Read) -> Figure:
    """Mean over seeds of execution time over the best possible, window by window; the band is the seeds' range."""
    curves = read("curves")
    figure, axes = one_axes(7.2, 4.4)
    for place, name in enumerate(ordered(curves)):
        by_tasks = curves[curves["scheduler"] == name].groupby("tasks")["time_ratio"]
        mean, low, high = by_tasks.mean(), by_tasks.min(), by_tasks.max()
        axes.plot(mean.index, mean, lw=1.5, label=label_of(name), **marks(name, place, len(mean)))
        axes.fill_between(mean.index, low, high, color=style_of(name).colour, alpha=0.12, linewidth=0)
    axes.axhline(1.0, color="#dc2626", lw=1.2, linestyle="--", label="best possible")
    plain_log(axes, "y")
    named(axes, x="tasks", y="execution time ÷ best possible", title="Along the run")
    return figure
