"""The verdicts on a model: each ratio with its interval, its seeds, and the line where it would be even."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.palette import style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, one_axes, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["model_judged"]

_WIDE = 1.6  # from this ratio of largest to smallest on, a linear axis would crowd the small ones


def model_judged(read: Read) -> Figure:
    """Horizontal whiskers, the first verdict on top; single seeds as faint dots behind them."""
    from hybrid_ml_scheduler.plans.intervals import ratio_interval

    frame = read("verdicts")
    labels = [str(label) for label in frame["label"].unique()]
    figure, axes = one_axes(8.4, 1.3 + 0.4 * len(labels))
    style = style_of(str(frame["strategy"].iloc[0]))
    low, high = 1.0, 1.0
    for place, label in enumerate(labels):
        rows = frame[frame["label"] == label]
        ratios = rows["ratio"].to_numpy(dtype=float)
        found = ratio_interval(ratios, str(rows["rival"].iloc[0]))
        # Rounding may put a ratio that is exactly 1 a hair below the limit of its interval.
        reach = [[max(0.0, found.mean - found.low)], [max(0.0, found.high - found.mean)]]
        # A whisker may leave the picture: over two seeds it is many times as long as they are apart.
        low = min(low, ratios.min(), max(found.low, ratios.min() / 3.0))
        high = max(high, ratios.max(), min(found.high, ratios.max() * 3.0))
        axes.scatter(ratios, [place - 0.26] * len(ratios), s=14, color=style.colour, alpha=0.6, linewidths=0)
        axes.errorbar(
            found.mean, place, xerr=reach, marker=style.marker, linestyle="none", ms=7,
            color=style.colour, mec=NEUTRAL, ecolor="#0f172a", elinewidth=1.4, capsize=4, zorder=3,
        )  # fmt: skip
        text = f"{found.mean:.4f}  [{found.low:.4f}, {found.high:.4f}] "
        axes.annotate(text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axes.axvline(1.0, color="#dc2626", lw=1.4, linestyle="--")
    _scale(axes, float(low), float(high))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.65)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("ratio, 1 = as good as the rival (dots: seeds, whiskers: 95 % interval)")
    axes.set_title(str(frame["title"].iloc[0]))
    return figure


def _scale(axes: Axes, low: float, high: float) -> None:
    if high / low > _WIDE:
        plain_log(axes, "x")
        axes.set_xlim(low / 1.25, high * 1.25)
        return
    room = 0.12 * max(high - low, 1e-3)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=6)
