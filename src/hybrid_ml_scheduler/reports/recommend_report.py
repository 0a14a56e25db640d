"""The PDF of a recommendation: the answer in words, every node with its best policy, the chart, the assumptions."""

from __future__ import annotations

from typing import Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import METRICS, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import plots
from hybrid_ml_scheduler.studies.folder import ResultsFolder

__all__ = ["recommend_page"]


def recommend_page(folder: ResultsFolder) -> Page:
    """Everything from the stored answer and table."""
    found = folder.read_json("recommendation.json")
    workload = found["workload"]
    source = workload.get("preset", workload.get("file"))
    subtitle = f"{found['promise']['text']}; {amount(found['tasks'], 'task')} of {source}; modelled, not measured."
    page = Page(title="Recommendation", subtitle=subtitle)
    page.heading("Answer")
    page.bullets(found["sentences"])
    page.heading("Nodes")
    page.text("Every node with its best policy, the cheapest first; the mean and its 95 % interval over paired seeds.")
    page.table(
        [["Node", "Price $/h", "Best policy", METRICS[found["promise"]["metric"]].head, "Promise"], *_rows(found)]
    )
    plots(page, folder)
    page.heading("Assumptions")
    page.bullets(found["assumptions"])
    return page


def _rows(found: dict[str, Any]) -> list[list[str]]:
    best: dict[str, dict[str, Any]] = {}
    for trial in found["trials"]:
        held = best.get(trial["node"])
        if held is None or _worth(trial) < _worth(held):
            best[trial["node"]] = trial
    unit = METRICS[found["promise"]["metric"]].unit
    return [
        [node, f"{one['price_usd_h']:.2f}", label_of(one["policy"]), _value(one, unit), one["verdict"]]
        for node, one in best.items()
    ]


def _worth(trial: dict[str, Any]) -> float:
    return float("inf") if trial["mean"] is None else float(trial["mean"])


def _value(trial: dict[str, Any], unit: str) -> str:
    if trial["mean"] is None:
        return "tasks fail"
    low, high = trial["interval"] or (float("nan"), float("nan"))
    return figure_with_interval(trial["mean"], low, high, unit)
