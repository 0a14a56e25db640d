"""What a node costs against what it keeps: the chart of a recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.metrics import METRICS
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, named, one_axes, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["price_against_promise"]


def price_against_promise(read: Read) -> Figure:
    """The best policy of every node: its price against the promised metric, with the limit as a line."""
    found = read("candidates")
    known = found[found["mean"].notna()]
    best = known.loc[known.groupby("node", sort=False)["mean"].idxmin()]
    card = METRICS[str(found["metric"].iloc[0])]
    figure, axes = one_axes(7.2, 4.6)
    for policy, rows in best.groupby("policy", sort=True):
        style = style_of(str(policy))
        axes.scatter(
            rows["price_usd_h"],
            rows["mean"],
            color=style.colour,
            marker=style.marker,
            edgecolors=None if style.is_cross else NEUTRAL,
            label=label_of(str(policy)),
            zorder=3,
        )
    for _, row in best.iterrows():
        axes.annotate(
            str(row["node"]), (row["price_usd_h"], row["mean"]), xytext=(4, 4), textcoords="offset points", size=8
        )
    axes.axhline(float(found["limit"].iloc[0]), color="#dc2626", lw=1.2, ls="--", label="promise")
    if (best["mean"] > 0.0).all():
        plain_log(axes, "y")
    named(axes, x="price of the node ($ an hour)", y=card.head, title="What a node costs and what it keeps")
    return figure
