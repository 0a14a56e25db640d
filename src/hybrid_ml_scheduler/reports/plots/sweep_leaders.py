"""A sweep as a map: who leads where, and whether that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.plans.metrics import METRICS
from hybrid_ml_scheduler.plans.metrics import figure as shown
from hybrid_ml_scheduler.plans.palette import style_of
from hybrid_ml_scheduler.reports.plots.axes import new_figure, strategy_handles, strategy_look, strategy_order
from hybrid_ml_scheduler.reports.plots.grid import Scale, scale_of, value_words
from hybrid_ml_scheduler.studies.sweep_tables import varied_parameters

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["sweep_leaders"]

_PANELS = ("mean_latency_s", "makespan_s", "mean_time_s", "energy_j")
_MOST_WRITTEN = 10
_PALE = 0.35


def sweep_leaders(read: Read) -> Figure:
    """The strategy with the lowest mean at each point of the grid; pale where its lead is not shown."""
    leaders = read("leaders")
    keys = sorted(varied_parameters(leaders), key=lambda key: -leaders[key].nunique(dropna=False))
    across = scale_of(leaders[keys[0]])
    if len(keys) == 1:
        down = Scale(name="metric", values=tuple(strategy_order(leaders, "metric")), is_numeric=False)
        figure = new_figure(9.2, 1.2 + 0.5 * len(down.values))
        _map(figure.add_subplot(), leaders, across, down)
    else:
        down = scale_of(leaders[keys[1]])
        metrics = [metric for metric in _PANELS if (leaders["metric"] == metric).any()]
        rows = (len(metrics) + 1) // 2
        figure = new_figure(9.2, 0.5 + rows * (0.9 + 0.45 * min(max(len(down.values), 3), 12)))
        panels = figure.subplots(rows, 2, squeeze=False).ravel()
        for axes, metric in zip(panels, metrics, strict=False):
            _map(axes, leaders[leaders["metric"] == metric], across, down)
            axes.set_title(METRICS[metric].title)
        for spare in panels[len(metrics) :]:
            spare.remove()
    _legend(figure, strategy_order(leaders))
    return figure


def _map(axes: Axes, leaders: pd.DataFrame, across: Scale, down: Scale) -> None:
    colours = np.ones((len(down.values), len(across.values), 3))
    written = max(colours.shape[:2]) <= _MOST_WRITTEN
    for (column, row), own in leaders.groupby([across.name, down.name], sort=False, dropna=False):
        place = across.steps(column), down.steps(row)
        name, is_shown, words = _told(own)
        colours[place[1], place[0]] = _colour(name, pale=not is_shown)
        if written:
            _write(axes, place, name, words)
    axes.imshow(colours, aspect="auto", origin="upper" if down.name == "metric" else "lower")
    axes.hlines(np.arange(len(down.values) - 1) + 0.5, -0.5, len(across.values) - 0.5, color="white", lw=1.5)
    axes.vlines(np.arange(len(across.values) - 1) + 0.5, -0.5, len(down.values) - 0.5, color="white", lw=1.5)
    axes.set_xticks(*_ticks(across))
    places, texts = _ticks(down)
    axes.set_yticks(places, [METRICS[text].title if text in METRICS else text for text in texts])
    axes.set_xlabel(across.name, fontsize=8.5)
    axes.set_ylabel("" if down.name == "metric" else down.name, fontsize=8.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    if sum(map(len, _ticks(across)[1])) > 40:
        axes.tick_params(axis="x", labelrotation=30)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _told(own: pd.DataFrame) -> tuple[str, bool, str]:
    """Who leads a cell of the map, whether that is shown, and what is written there.

    Behind a cell may lie several points of further parameters: then the one that leads at most of them.
    """
    if len(own) == 1:
        row: Any = own.iloc[0]
        unit = METRICS[row["metric"]].unit
        return str(row["scheduler"]), bool(row["beaten"] > 0 and row["tied"] == 0), shown(row["mean"], unit)
    name = str(own["scheduler"].value_counts(sort=False).idxmax())  # of several the first in the grid
    led = own[own["scheduler"] == name]
    return name, bool(((led["beaten"] > 0) & (led["tied"] == 0)).all()), f"{len(led)} of {len(own)}"


def _colour(name: str, *, pale: bool) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(style_of(name).colour)
    share = _PALE if pale else 1.0
    return 1.0 - share * (1.0 - red), 1.0 - share * (1.0 - green), 1.0 - share * (1.0 - blue)


def _write(axes: Axes, place: tuple[int, int], name: str, words: str) -> None:
    """Marker and number on a light ground, so that both can be read on every colour."""
    ground = {"boxstyle": "round,pad=0.2", "facecolor": "white", "alpha": 0.8, "linewidth": 0}
    axes.text(place[0] + 0.06, place[1], words, ha="center", va="center", fontsize=7, bbox=ground)
    axes.plot(place[0] - 0.38, place[1], marker="o", color="white", alpha=0.8, ms=10, mew=0)
    axes.plot(place[0] - 0.38, place[1], **{**strategy_look(name), "ms": 5.5})


def _ticks(scale: Scale) -> tuple[list[int], list[str]]:
    """Every value, or of many every so many."""
    every = -(-len(scale.values) // 12)
    places = list(range(0, len(scale.values), every))
    return places, [value_words(scale.values[place]) for place in places]


def _legend(figure: Figure, names: list[str]) -> None:
    from matplotlib.patches import Patch

    handles: list[Any] = [*strategy_handles(names)]
    handles.append(Patch(facecolor=_colour("round_robin", pale=False), label="full colour: beats all others"))
    handles.append(Patch(facecolor=_colour("round_robin", pale=True), label="pale: lead not shown"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5))
