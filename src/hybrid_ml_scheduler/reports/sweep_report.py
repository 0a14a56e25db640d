"""The PDF of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import annex, plots
from hybrid_ml_scheduler.reports.sweep_words import SWEEP_METHOD, sweep_setting, sweep_summary
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.sweep_tables import varied_parameters

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sweep_page"]

_MOST_POINTS = 36
_MOST_NAMES = 3


def sweep_page(folder: ResultsFolder) -> Page:
    """Summary, plots, who leads at each point, and annex."""
    run = folder.read_json("run.json")
    page = Page(title="Sweep report", subtitle=sweep_setting(run))
    page.heading("Summary")
    page.bullets(sweep_summary(run, folder.read_table)[1:])
    plots(page, folder)
    _leaders(page, folder.read_table("leaders"))
    annex(page, run, SWEEP_METHOD)
    return page


def _leaders(page: Page, leaders: pd.DataFrame) -> None:
    keys = varied_parameters(leaders)
    page.heading("Who leads where")
    page.text(
        "The lowest mean at each point with its unadjusted 95 % interval, and which strategies it is not shown to "
        "differ from. Means of all strategies are in tables/intervals.csv, leads in all metrics in tables/leaders.csv."
    )
    for metric in LISTS["pairs"]:
        own = leaders[leaders["metric"] == metric]
        head = [
            *_short(keys),
            METRICS[metric].head,
            "Lowest mean",
            "Not decided against, or equal to",
        ]
        if len(own):
            rows = _rows(own.head(_MOST_POINTS), keys)
            page.table([head, *rows])
        if len(own) > _MOST_POINTS:
            page.text(f"The first {_MOST_POINTS} of {len(own):,} points; the rest are in tables/leaders.csv.")


def _rows(own: pd.DataFrame, keys: list[str]) -> list[list[str]]:
    from hybrid_ml_scheduler.reports.plots.grid import value_words

    rows = []
    for row in own.to_dict("records"):
        names = [label_of(name) for name in row["tied_with"].split(", ") if name]
        ties = ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} of {len(names) + row['beaten']} others"
        value = figure_with_interval(row["mean"], row["low"], row["high"])
        rows.append([*(value_words(row[key]) for key in keys), value, label_of(row["scheduler"]), ties or "–"])
    return rows


def _short(keys: list[str]) -> list[str]:
    """The last parts of the keys, or the whole keys where two of them end alike."""
    last = [key.rpartition(".")[2] for key in keys]
    return last if len(set(last)) == len(last) else keys
