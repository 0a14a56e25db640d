"""The win/loss matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.reports.plots.axes import labels, one_axes, strategy_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["win_matrix"]

_TITLE = 5.4  # inches


def win_matrix(read: Read) -> Figure:
    """Share of tasks on which the row has the lower latency, with the reach of its interval."""
    wins = read("wins")
    wins = wins[wins["metric"] == "latency_s"]
    names = strategy_order(wins, "row")
    shares = np.full((len(names), len(names)), np.nan)
    # Few strategies need little room, the title needs its own.
    figure, axes = one_axes(max(_TITLE, 1.9 + 0.62 * len(names)), 1.5 + 0.4 * len(names))
    for row, column, mean, low, high in wins[["row", "column", "mean", "low", "high"]].itertuples(index=False):
        place = names.index(row), names.index(column)
        shares[place] = mean
        text = f"{100 * mean:.0f}{_spread(mean, low, high)}"
        axes.text(place[1], place[0], text, ha="center", va="center", fontsize=6.5)
    axes.imshow(shares, cmap="PRGn", vmin=-0.35, vmax=1.35, aspect="auto")
    axes.set_xticks(range(len(names)), labels(names), rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), labels(names))
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_title("Row has the lower latency (% of tasks)")
    return figure


def _spread(mean: float, low: float, high: float) -> str:
    """The reach of an interval below its share: both ends where 0 or 100 % cut it off, so that it is not even."""
    if np.isnan(low):
        return ""
    if (low == 0.0 or high == 1.0) and low < high:
        return f"\n{100 * low:.0f}–{100 * high:.0f}"
    return f"\n±{100 * (high - mean):.1f}"
