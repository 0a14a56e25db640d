"""What the plots share: a figure without a global state, and the order and looks of strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hybrid_ml_scheduler.experiments.palette import label_of, style_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NEUTRAL", "bars", "labels", "new_figure", "one_axes", "ordered", "plain_log"]

NEUTRAL = "#334155"


def new_figure(width: float = 7.2, height: float = 4.2) -> Figure:
    """An empty figure that lays itself out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def one_axes(width: float = 7.2, height: float = 4.2) -> tuple[Figure, Axes]:
    """A figure with one pair of axes."""
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def plain_log(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with its numbers written out; smaller ones too where it spans little."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis

    def minor(value: float, _: int | None = None) -> str:
        low, high = axis.get_view_interval()
        return f"{value:g}" if high / low < 40 else ""

    axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(FuncFormatter(minor))
    axes.tick_params(axis=which, which="minor", labelsize=7)


def labels(names: list[str]) -> list[str]:
    """Strategies as people read them."""
    return [label_of(name) for name in names]


def ordered(frame: pd.DataFrame, column: str = "scheduler") -> list[str]:
    """The strategies of a table in the order of their first row."""
    return [str(name) for name in frame[column].unique()]


def bars(axes: Axes, rows: pd.DataFrame, unit: str, *, ascending: bool = True) -> list[str]:
    """Horizontal bars with intervals, the best on top; returns the strategies from top to bottom."""
    import numpy as np

    rows = rows.sort_values("mean", ascending=not ascending, kind="stable", na_position="first")
    names = [str(name) for name in rows["scheduler"]]
    mean = rows["mean"].to_numpy(dtype=float)
    places = np.arange(len(rows))
    colours = [style_of(name).colour for name in names]
    axes.barh(places, mean, color=colours, edgecolor=NEUTRAL, linewidth=0.6, height=0.72)
    axes.errorbar(mean, places, xerr=_reach(rows, mean), fmt="none", ecolor="#0f172a", elinewidth=1.2, capsize=3)
    axes.set_yticks(places, labels(names))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(unit)
    axes.locator_params(axis="x", nbins=6)
    return names[::-1]


def _reach(rows: pd.DataFrame, mean: np.ndarray) -> Any:
    """How far the intervals reach to the left and right; nothing where there is none."""
    import numpy as np

    low, high = rows["low"].to_numpy(dtype=float), rows["high"].to_numpy(dtype=float)
    return np.nan_to_num(np.vstack([mean - low, high - mean]), nan=0.0)
