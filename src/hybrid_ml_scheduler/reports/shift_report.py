"""The PDF of the shift experiment."""

from __future__ import annotations

from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import annex, cell, pair_table, pairs_explained, plots
from hybrid_ml_scheduler.reports.shift_words import SHIFT_METHOD, figure_title, shift_setting, shift_summary
from hybrid_ml_scheduler.reports.words import ranking
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.shift_tables import MEASURES

__all__ = ["shift_page"]


def shift_page(folder: ResultsFolder) -> Page:
    """Summary, the table of all six, the figures of the adaptation, pairs, plots and annex."""
    run = folder.read_json("run.json")
    page = Page(title="Shift report", subtitle=shift_setting(run))
    page.heading("Summary")
    page.bullets(shift_summary(run, folder.read_table)[1:])
    _results(page, folder)
    _figures(page, folder)
    _pairs(page, folder)
    plots(page, folder)
    annex(page, run, SHIFT_METHOD)
    return page


def _results(page: Page, folder: ResultsFolder) -> None:
    means, adapted = folder.read_table("means"), folder.read_table("adaptation")
    last = next(name for name in adapted.columns if "_last_" in name).rpartition("_")[2]
    page.heading("Results")
    page.text("Mean over seeds and its unadjusted 95 % interval, least sum of execution times first.")
    head = ["Strategy", "Sum of times (s)", f"Sum over the last\n{last} tasks (s)", "Mean time (s)", "Makespan (s)"]
    table = means.set_index(["scheduler", "metric"])
    rows = [
        [label_of(str(name)), *(cell(table.loc[(name, metric)]) for metric in MEASURES)]
        for name in ranking("total_time_s", means)["scheduler"]
    ]
    page.table([head, *rows])
    least = float(folder.read_table("seeds").drop_duplicates("seed")["best_total_s"].mean())
    page.text(f"Least possible sum of execution times over all splits (mean over seeds): {figure(least)} s.")


def _figures(page: Page, folder: ResultsFolder) -> None:
    page.heading("Adaptation")
    rows = [
        [figure_title(str(row["figure"])), figure_with_interval(row["mean"], row["low"], row["high"])]
        for row in folder.read_table("figures").to_dict("records")
    ]
    page.table([["Figure", "Mean [95 % interval]"], *rows])


def _pairs(page: Page, folder: ResultsFolder) -> None:
    pairs = folder.read_table("pairs")
    if not pairs["low"].notna().any():
        return
    page.heading("The agent against the others")
    page.text(f"The difference is agent − other. {pairs_explained(pairs)}")
    means = folder.read_table("means")
    for metric, title in (("total_time_s", "Sum of times (s)"), ("last_time_s", "Sum over the last tasks (s)")):
        others = [str(name) for name in ranking(metric, means)["scheduler"] if name != "rl_agent"]
        pair_table(page, title, pairs[pairs["metric"] == metric], "rl_agent", others)
