"""What a node costs against what it keeps: the chart of a recommendation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.metrics import METRICS
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, name_axes, one_axes, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["price_against_promise"]


def price_against_promise(read: Read) -> Figure:
    """The best policy of every node: its price against the promised metric, with the limit as a line."""
    found = read("candidates")
    known = found[found["mean"].notna()]
    best = known.loc[known.groupby("node", sort=False)["mean"].idxmin()]
    card = METRICS.get(str(found["metric"].iloc[0]))
    head = "Share of late tasks" if card is None else card.head
    figure, axes = one_axes(7.2, 4.6)
    for policy, rows in best.groupby("policy", sort=True):
        style = style_of(str(policy))
        axes.scatter(
            rows["price"],
            rows["mean"],
            color=style.colour,
            marker=style.marker,
            edgecolors=None if style.is_cross else NEUTRAL,
            label=label_of(str(policy)),
            zorder=3,
        )
    by_price = best.sort_values("price", kind="stable")
    for place, (_, row) in enumerate(by_price.iterrows()):  # in turn above and below: neighbours do not touch
        axes.annotate(
            str(row["node"]),
            (row["price"], row["mean"]),
            xytext=(4, 5) if place % 2 == 0 else (-4, -12),
            textcoords="offset points",
            ha="left" if place % 2 == 0 else "right",
            size=8,
            zorder=2,
            bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
        )
    limit = float(found["limit"].iloc[0])
    if math.isfinite(limit):
        axes.axhline(limit, color="#dc2626", lw=1.2, ls="--", label="target")
    if (best["mean"] > 0.0).all():
        plain_log(axes, "y")
    name_axes(axes, x="price of the node", y=head, title="What a node costs and what it keeps")
    return figure
