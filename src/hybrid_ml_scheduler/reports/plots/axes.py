"""What the plots share: a figure without a global state, and the order and looks of strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hybrid_ml_scheduler.plans.palette import label_of, style_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "NEUTRAL",
    "bars",
    "labels",
    "marks",
    "name_axes",
    "new_figure",
    "one_axes",
    "plain_log",
    "strategy_handles",
    "strategy_look",
    "strategy_order",
]

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
    """Make an axis logarithmic, with its numbers written out: the more of them, the less it spans."""
    from matplotlib.ticker import LogLocator

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    steps = next((steps for most, steps in _LOG_STEPS if high < most * low), ())
    axis.set_minor_locator(LogLocator(subs=steps))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("{x:g}")
    axes.tick_params(axis=which, which="minor", labelsize=8)


# Up to which span of an axis which numbers between the powers of ten are written.
_LOG_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (8.0, (1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
    (40.0, (2.0, 3.0, 5.0)),
    (1000.0, (2.0, 5.0)),
)


def marks(name: str, place: int, points: int) -> dict[str, Any]:
    """Marker and places of it for a line, set off from those of other lines so that equal lines can be told apart."""
    every = max(1, points // 6)
    offset = place * every // 12 % every
    return {**strategy_look(name), "linestyle": style_of(name).dash, "markevery": (offset, every), "markersize": 5}


def strategy_look(name: str) -> dict[str, Any]:
    """Colour and marker of a strategy for anything drawn as a line; a cross has no inside to fill."""
    style = style_of(name)
    edge, width = (style.colour, 1.2) if style.is_cross else (NEUTRAL, 0.4)
    return {"color": style.colour, "marker": style.marker, "markeredgecolor": edge, "markeredgewidth": width}


def strategy_handles(names: list[str], *, lines: bool = False) -> list[Line2D]:
    """What a legend needs of each strategy, with or without its line."""
    from matplotlib.lines import Line2D

    looks = ({"linestyle": style_of(name).dash if lines else "none", **strategy_look(name)} for name in names)
    return [Line2D([], [], label=label_of(name), **look) for name, look in zip(names, looks, strict=True)]


def name_axes(axes: Axes, *, x: str, y: str, title: str) -> None:
    """Name the axes, and put the legend beside them, where it hides nothing."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    columns = max(1, -(-len(axes.get_legend_handles_labels()[1]) // _LEGEND_ROWS))
    figure = axes.get_figure(root=True)
    if columns > 1 and figure is not None:
        figure.set_figwidth(figure.get_figwidth() + _LEGEND_COLUMN * (columns - 1))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=columns)


# A legend longer than its axes would squash them: so many names a column, and so many inches for each further column.
_LEGEND_ROWS = 15
_LEGEND_COLUMN = 1.7


def labels(names: list[str]) -> list[str]:
    """Strategies as people read them."""
    return [label_of(name) for name in names]


def strategy_order(frame: pd.DataFrame, column: str = "scheduler") -> list[str]:
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
    # Small numbers are long ones: fewer of them fit side by side, each with its own power of ten.
    small = bool(len(mean)) and np.nanmax(np.abs(mean)) < 1e-3
    axes.locator_params(axis="x", nbins=3 if small else 6)
    if small:
        axes.xaxis.set_major_formatter("{x:.3g}")
    return names[::-1]


def _reach(rows: pd.DataFrame, mean: np.ndarray) -> Any:
    """How far the intervals reach to the left and right; nothing where there is none."""
    import numpy as np

    low, high = rows["low"].to_numpy(dtype=float), rows["high"].to_numpy(dtype=float)
    return np.nan_to_num(np.vstack([mean - low, high - mean]), nan=0.0)
