"""What not knowing costs: latency at every level of knowledge, and the price of learning, over the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import name_axes, new_figure, plain_log

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["knowledge_levels", "knowledge_prices"]

_CUT = 3.0
_TITLES = {"exact": "told the truth", "nominal": "told the formula", "learned": "learning"}


def knowledge_levels(read: Read) -> Figure:
    """Mean latency over the load, a panel for each level."""
    levels = read("levels")
    figure = new_figure(9.2, 3.8)
    panels = figure.subplots(1, len(_TITLES), sharey=True)
    for axes, (level, title) in zip(panels, _TITLES.items(), strict=True):
        _lines(axes, levels[levels["level"] == level], _floor(levels))
        axes.set(title=title, xlabel="load")
    _cut_off(panels[0], levels)
    panels[0].set_ylabel("mean latency (s)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def knowledge_prices(read: Read) -> Figure:
    """Latency at `nominal` and at `learned` over that at `exact`, a panel for each."""
    prices = read("prices")
    figure = new_figure(9.2, 3.8)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, level in zip(panels, ("nominal", "learned"), strict=True):
        _lines(axes, prices[prices["level"] == level], _floor(prices))
        axes.axhline(1.0, color="#475569", lw=1.0, linestyle="--")
        name_axes(axes, x="load", y="latency ÷ latency when told", title=_TITLES[level])
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
    _cut_off(panels[0], prices)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _floor(rows: pd.DataFrame) -> float:
    """Where intervals are cut off: few seeds give some that reach zero, which no logarithmic axis can show."""
    return float(rows["mean"].min()) / _CUT


def _cut_off(axes: Axes, rows: pd.DataFrame) -> None:
    """The common axis of all panels, logarithmic; what is cut off goes on below the picture."""
    plain_log(axes, "y")
    if (rows["low"] < _floor(rows)).any():
        axes.set_ylim(bottom=_floor(rows))


def _lines(axes: Axes, rows: pd.DataFrame, floor: float) -> None:
    axes.set_xticks(sorted(set(rows["load"])))
    for name in dict.fromkeys(rows["scheduler"]):
        own, style = rows[rows["scheduler"] == name], style_of(name)
        axes.plot(
            own["load"],
            own["mean"],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            ms=5,
            label=label_of(name),
        )
        if own["low"].notna().all() and len(own) == 1:  # a band needs two loads
            mean, low, high = float(own["mean"].iloc[0]), float(own["low"].iloc[0]), float(own["high"].iloc[0])
            reach = [[mean - max(low, floor)], [high - mean]]
            axes.errorbar(own["load"], own["mean"], yerr=reach, color=style.colour, capsize=3, linewidth=1)
        elif own["low"].notna().all():
            axes.fill_between(
                own["load"], own["low"].clip(lower=floor), own["high"], color=style.colour, alpha=0.12, linewidth=0
            )
