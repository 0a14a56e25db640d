"""Energy against time, with the front that no choice can pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, name_axes, one_axes, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["pareto_front"]


def pareto_front(read: Read) -> Figure:
    """Each strategy as a point: mean execution time and mean energy per task of the first seed."""
    metrics, front = read("metrics"), read("front")
    first = metrics[metrics["seed"] == metrics["seed"].min()]
    figure, axes = one_axes(7.2, 4.6)
    time_s, energy_j = front["time_s"].to_numpy(), front["energy_j"].to_numpy()
    axes.plot(time_s, energy_j, color="#dc2626", lw=1.8, label="exact lower bound")
    for _, row in first.iterrows():
        style = style_of(row["scheduler"])
        done = row["tasks"] - row["failed_count"]
        axes.scatter(
            row["mean_time_s"],
            row["energy_j"] / max(done, 1),
            s=110 if style.marker == "*" else 64,
            color=style.colour,
            marker=style.marker,
            edgecolors=None if style.is_cross else NEUTRAL,
            linewidths=1.6 if style.is_cross else 0.7,
            label=label_of(row["scheduler"]),
            zorder=3,
        )
    plain_log(axes, "x")
    name_axes(axes, x="mean execution time (s)", y="mean energy (J per task)", title="Energy against time")
    return figure
