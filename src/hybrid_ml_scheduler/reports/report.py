"""The PDF report: summary in words, tables with intervals, plots, plan, versions, hardware, assumptions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS, figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import annex, cell, pair_table, pairs_explained, plots
from hybrid_ml_scheduler.reports.words import METHOD, executive_summary, ranking, setting, standing
from hybrid_ml_scheduler.studies.folder import ResultsFolder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["report_pdf"]

_TITLES = {"heavy": "Heavy simulation", "pipeline": "Pipeline", "race": "Race"}


def report_pdf(folder: ResultsFolder) -> bytes:
    """The whole report as bytes; the same tables give the same bytes."""
    if folder.kind == "shift":
        from hybrid_ml_scheduler.reports.shift_report import shift_page

        page = shift_page(folder)
    elif folder.kind == "sweep":
        from hybrid_ml_scheduler.reports.sweep_report import sweep_page

        page = sweep_page(folder)
    elif folder.kind == "knowledge":
        from hybrid_ml_scheduler.reports.knowledge_report import knowledge_page

        page = knowledge_page(folder)
    elif folder.kind == "recommend":
        from hybrid_ml_scheduler.reports.recommend_report import recommend_page

        page = recommend_page(folder)
    else:
        page = _comparison_page(folder)
    target = io.BytesIO()
    page.build(target)
    return target.getvalue()


def _comparison_page(folder: ResultsFolder) -> Page:
    run = folder.read_json("run.json")
    page = Page(title=f"{_TITLES.get(folder.kind, folder.kind.capitalize())} report", subtitle=setting(run))
    page.heading("Summary")
    page.bullets(executive_summary(run, folder.read_table)[1:])
    judged_by = run.get("judged_by", "mean_latency_s")
    _results(page, folder, judged_by)
    _tail(page, folder, judged_by)
    _pairs(page, folder)
    _models(page, folder)
    plots(page, folder)
    annex(page, run, METHOD)
    return page


def _results(page: Page, folder: ResultsFolder, judged_by: str) -> None:
    intervals = folder.read_table("intervals")
    page.heading("Results")
    best_first = f"best {METRICS[judged_by].title.lower()} first"
    page.text(f"Mean over seeds and its unadjusted 95 % interval, {best_first}.")
    _metric_table(page, intervals, LISTS["report_table"], judged_by)
    _ratios(page, folder, judged_by)
    bounds = folder.read_table("metrics").drop_duplicates("seed")
    page.text(
        f"Proven lower bounds (mean over seeds): makespan {figure(float(bounds['makespan_bound_s'].mean()))} s, "
        f"mean execution time {figure(float(bounds['mean_time_bound_s'].mean()))} s."
    )


def _tail(page: Page, folder: ResultsFolder, judged_by: str) -> None:
    """How the worst tasks fared, where the folder knows it."""
    intervals = folder.read_table("intervals")
    known = [metric for metric in LISTS["report_tail"] if (intervals["metric"] == metric).any()]
    if known == list(LISTS["report_tail"]):
        due = intervals[(intervals["metric"] == "within_deadline") & intervals["mean"].notna()]
        known += ["within_deadline"] if len(due) else []
        page.heading("The tail")
        page.text(f"{METRICS['mean_slowdown'].meaning} Mean over seeds and its unadjusted 95 % interval.")
        _metric_table(page, intervals, known, judged_by)


def _ratios(page: Page, folder: ResultsFolder, judged_by: str) -> None:
    """Every strategy beside the best simple rule of each metric, where the folder knows that."""
    if "ratios" in folder.tables() and len(ratios := folder.read_table("ratios")):
        page.heading("Beside the best simple rule")
        page.text(
            "The value of each strategy over that of the best strategy that does not learn, on the same tasks: the "
            "mean over seeds with its unadjusted 95 % interval. The best rule may be another one for each metric."
        )
        known = [metric for metric in LISTS["compared"] if (ratios["metric"] == metric).any()]
        _metric_table(page, ratios, known, judged_by if judged_by in known else known[0], is_ratio=True)


def _metric_table(
    page: Page, intervals: pd.DataFrame, metrics: Sequence[str], judged_by: str, *, is_ratio: bool = False
) -> None:
    table = intervals.set_index(["scheduler", "metric"])
    heads = [METRICS[metric].title if is_ratio else METRICS[metric].head for metric in metrics]
    rows = [["Strategy", *heads]]
    order = intervals[intervals["metric"] == judged_by].sort_values("mean", kind="stable")["scheduler"]
    for name in order:
        units = ["" if is_ratio else METRICS[metric].unit for metric in metrics]
        cells = [cell(table.loc[(name, metric)], unit) for metric, unit in zip(metrics, units, strict=True)]
        rows.append([label_of(name), *cells])
    page.table(rows)


def _pairs(page: Page, folder: ResultsFolder) -> None:
    intervals, comparisons = folder.read_table("intervals"), folder.read_table("comparisons")
    if not len(comparisons) or not comparisons["low"].notna().any():
        return
    page.heading("Who leads")
    page.text("The lowest mean of each metric, which strategies it is not shown to differ from, and how many it beats.")
    page.table(_leaders(intervals, comparisons))
    page.heading("Who beats whom")
    meaning = pairs_explained(comparisons)
    page.text(f"The best strategy of a metric against every other; the difference is best − other. {meaning}")
    for metric in LISTS["pairs"]:
        names = [str(name) for name in ranking(metric, intervals)["scheduler"]]
        if len(names) > 1:
            own = comparisons[comparisons["metric"] == metric]
            pair_table(page, METRICS[metric].head, own, names[0], names[1:])


def _leaders(intervals: pd.DataFrame, comparisons: pd.DataFrame) -> list[list[str]]:
    rows = [["Metric", "Lowest mean", "Not decided against, or equal to", "Beats"]]
    for metric in LISTS["summary"]:
        found = standing(metric, intervals, comparisons)
        if found is None:
            continue
        best = found.best
        value = figure_with_interval(best["mean"], best["low"], best["high"])
        leader = f"{label_of(str(best['scheduler']))}, {value} {METRICS[metric].unit}"
        others = ", ".join(label_of(name) for name in found.not_beaten) or "–"
        beaten = f"{found.beaten} of {found.beaten + len(found.not_beaten)}"
        rows.append([METRICS[metric].title, leader, others, beaten])
    return rows


def _models(page: Page, folder: ResultsFolder) -> None:
    """What was trained before the evaluation, where there was training."""
    if "forest" not in folder.tables():
        return
    found: Any = folder.read_table("forest").iloc[0]
    page.heading("Models")
    page.text(
        f"The forest was trained on {int(found['samples']):,} labelled tasks. On {int(found['held_out']):,} tasks held "
        f"out, its share of the GPU is off by {figure(float(found['mean_error']))} on average (95 % of them by at most "
        f"{figure(float(found['p95_error']))}); always guessing the mean share is off by "
        f"{figure(float(found['mean_error_of_the_mean']))}."
    )
    if "agent" in folder.tables():
        _agent(page, folder.read_table("agent").iloc[0])
    page.text(f"{found['separation']} Forest and agent were frozen for the evaluation.")


def _agent(page: Page, found: Any) -> None:
    """How the agent was taught; what it is not is said too."""
    page.text(
        f"The agent began with {found['begins_with']} and was pre-trained on {int(found['demonstrations']):,} "
        f"decisions of {label_of(found['teacher'])} with what they really earned ({int(found['updates']):,} updates); "
        "it did not search for itself, as the long training (hms train agent) does. "
        f"On {int(found['held_out']):,} {found['judged_on']} its mean latency was "
        f"{figure(float(found['mean_latency_s']))} s, the teacher's "
        f"{figure(float(found['teacher_mean_latency_s']))} s, and that of the agent before it was taught "
        f"{figure(float(found['untaught_mean_latency_s']))} s."
    )
