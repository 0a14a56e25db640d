"""A sweep as lines: every strategy along a parameter, side by side for the values of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.plans.metrics import METRICS
from hybrid_ml_scheduler.plans.palette import style_of
from hybrid_ml_scheduler.reports.plots.axes import (
    new_figure,
    plain_log,
    strategy_handles,
    strategy_look,
    strategy_order,
)
from hybrid_ml_scheduler.reports.plots.grid import Scale, point_words, scale_of
from hybrid_ml_scheduler.studies.sweep_tables import varied_parameters

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["sweep_lines"]

_SHOWN = ("mean_latency_s", "makespan_gap", "mean_time_s", "energy_j")
_MOST_BESIDE = 4
_MOST_BARS = 12
_LOG_FROM = 30.0
_OVER_THE_REST = "Mean over all values of the other parameters"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """The panels of one column: what stands over them, their axis, and the means to draw."""

    title: str
    scale: Scale
    means: pd.DataFrame


def sweep_lines(read: Read) -> Figure:
    """Latency, gap, execution time and energy along the grid, with intervals over seeds."""
    intervals = read("intervals")
    known = intervals[intervals["mean"].notna()]
    metrics = [metric for metric in _SHOWN if (known["metric"] == metric).any()]
    columns = _columns(read, intervals, metrics)
    figure, panels = _panels(len(metrics), len(columns))
    for metric, row in zip(metrics, panels, strict=True):
        own = [column.means[column.means["metric"] == metric] for column in columns]
        for axes, means, column in zip(row, own, columns, strict=True):
            _draw(axes, means, column.scale, 100.0 if METRICS[metric].unit == "%" else 1.0)
            column.scale.apply(axes, narrow=len(columns) > 1)
        _scale_values(row, metric, own)
    _name(panels, metrics, columns)
    if columns[0].title == _OVER_THE_REST:
        count = len(varied_parameters(intervals))
        some = f" (the first {len(columns)} of {count} parameters)" if count > len(columns) else ""
        figure.suptitle(_OVER_THE_REST + some, fontsize=9.5)
    lines = any(column.scale.is_numeric for column in columns)
    figure.legend(handles=strategy_handles(strategy_order(intervals), lines=lines), loc="outside right upper")
    return figure


def _columns(read: Read, intervals: pd.DataFrame, metrics: Sequence[str]) -> list[_Column]:
    """Facets for the values of the other parameters; too many of those become the mean over them."""
    keys = varied_parameters(intervals)
    scales = {key: scale_of(intervals[key]) for key in keys}
    along = max(keys, key=lambda key: (scales[key].is_numeric, len(scales[key].values)))
    others = [key for key in keys if key != along]
    named = intervals.rename(columns={along: "along"})
    if not others:
        return [_Column(title="", scale=scales[along], means=named)]
    points = named.groupby(others, sort=False, dropna=False)
    if points.ngroups <= _MOST_BESIDE:
        titles = [(point_words(dict(zip(others, point, strict=True))), own) for point, own in points]
        return [_Column(title=title, scale=scales[along], means=own) for title, own in titles]
    sweep = read("sweep")
    return [
        _Column(title=_OVER_THE_REST, scale=scales[key], means=over_the_rest(sweep, key, metrics))
        for key in keys[:_MOST_BESIDE]
    ]


def over_the_rest(sweep: pd.DataFrame, key: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Means along one parameter over all values of the others, seed by seed, so that intervals are over seeds.

    Of each strategy only those values of the others count that it met everywhere: nothing is averaged over more
    points here than there.
    """
    import pandas as pd

    others = [other for other in varied_parameters(sweep) if other != key]
    rows = []
    for metric in metrics:
        for name, own in sweep[sweep[metric].notna()].groupby("scheduler", sort=False):
            met = own.groupby(others, sort=False, dropna=False)["seed"].transform("size")
            for value, at in own[met == met.max()].groupby(key, sort=False, dropna=False):
                found = bounded_interval(at.groupby("seed")[metric].mean().to_numpy(dtype=float))
                ends = {"mean": found.mean, "low": found.low, "high": found.high}
                rows.append({"along": value, "scheduler": name, "metric": metric, **ends})
    return pd.DataFrame(rows)


def _panels(metrics: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """One column of four panels is folded to two by two."""
    if columns > 1:
        figure = new_figure(9.4, 0.8 + 1.75 * metrics)
        found = figure.subplots(metrics, columns, squeeze=False, sharex="col", sharey="row")
        return figure, [list(row) for row in found]
    figure = new_figure(9.2, 0.4 + 2.7 * ((metrics + 1) // 2))
    folded = figure.subplots((metrics + 1) // 2, min(metrics, 2), squeeze=False).ravel()
    for spare in folded[metrics:]:
        spare.remove()
    return figure, [[axes] for axes in folded[:metrics]]


def _draw(axes: Axes, means: pd.DataFrame, scale: Scale, times: float) -> None:
    names = strategy_order(means)
    for place, name in enumerate(names):
        own, style = means[means["scheduler"] == name], style_of(name)
        x, values = scale.places(own["along"]), own[["mean", "low", "high"]].to_numpy(dtype=float) * times
        order = np.argsort(x, kind="stable")
        x, (mean, low, high) = x[order], values[order].T
        # Names have nothing between them that a line could lead through.
        look = {**strategy_look(name), "ms": 4.5, "linestyle": style.dash if scale.is_numeric else "none", "lw": 1.5}
        if len(scale.values) > _MOST_BARS and scale.is_numeric:
            axes.plot(x, mean, markevery=max(1, len(x) // 6), **look)
            axes.fill_between(x, low, high, color=style.colour, alpha=0.14, linewidth=0)
        else:
            reach = np.nan_to_num(np.vstack([mean - low, high - mean]), nan=0.0)
            beside = scale.beside(x, (place + 0.5) / len(names) - 0.5)
            axes.errorbar(beside, mean, yerr=reach, elinewidth=0.9, capsize=1.8, **look)


def _name(panels: Sequence[Sequence[Axes]], metrics: Sequence[str], columns: Sequence[_Column]) -> None:
    for metric, row in zip(metrics, panels, strict=True):
        unit = METRICS[metric].unit
        title = f"{METRICS[metric].title} ({unit})" if unit else METRICS[metric].title
        if len(columns) == 1:
            row[0].set_title(title)
            row[0].set_xlabel(columns[0].scale.name)
        else:
            row[0].set_ylabel(fill(title, 20), fontsize=8.5)
    if len(columns) > 1:
        for axes, last, column in zip(panels[0], panels[-1], columns, strict=True):
            axes.set_title("" if column.title == _OVER_THE_REST else column.title, fontsize=9)
            section, _, key = column.scale.name.rpartition(".")  # on two lines, for neighbours are near
            last.set_xlabel(f"{section}.\n{key}", fontsize=8.5)


def _scale_values(row: Sequence[Axes], metric: str, drawn: Sequence[pd.DataFrame]) -> None:
    """A logarithmic axis where the means differ a lot, the same for all panels of a metric; a gap begins at zero."""
    values = np.concatenate([means[["mean", "high"]].to_numpy(dtype=float) for means in drawn])
    values = values[np.isfinite(values[:, 0])]
    least, most = (values[:, 0].min(), values[:, 0].max()) if len(values) else (0.0, 0.0)
    for axes in row:
        if 0 < least <= most / _LOG_FROM and METRICS[metric].unit != "%":
            axes.set_ylim(0.7 * least, 1.3 * np.nanmax(values))
            plain_log(axes, "y")
        else:
            axes.set_ylim(bottom=0.0)
