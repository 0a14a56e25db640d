"""The PDF of a recommendation: the answer in words, every node with its best policy, the chart, the assumptions."""

from __future__ import annotations

from typing import Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import merged_notes, plots
from hybrid_ml_scheduler.studies.folder import ResultsFolder

__all__ = ["recommend_page"]


def recommend_page(folder: ResultsFolder) -> Page:
    """Everything from the stored answer and table."""
    found = folder.read_json("recommendation.json")
    workload = found["workload"]
    source = workload.get("preset", workload.get("file"))
    target = found["target"]
    subtitle = f"{target['text']}; {amount(found['tasks'], 'task')} of {source}; modelled, not measured."
    page = Page(title="Recommendation", subtitle=subtitle)
    page.heading("Answer")
    page.bullets(found["sentences"])
    page.heading("Nodes")
    page.text("Every node with its best policy, the cheapest first; the mean and its 95 % interval over paired seeds.")
    page.table([["Node", "Price", "Best policy", target["head"], "Target"], *_rows(found)])
    plots(page, folder)
    page.heading("Assumptions")
    page.bullets(merged_notes(found["assumptions"]))
    return page


def _rows(found: dict[str, Any]) -> list[list[str]]:
    best: dict[str, dict[str, Any]] = {}
    for trial in found["trials"]:
        held = best.get(trial["node"])
        if held is None or _worth(trial) < _worth(held):
            best[trial["node"]] = trial
    unit = found["target"]["unit"]
    return [
        [node, f"{one['price']:,.2f}", label_of(one["policy"]), _value(one, unit), one["verdict"]]
        for node, one in best.items()
    ]


def _worth(trial: dict[str, Any]) -> float:
    return float("inf") if trial["mean"] is None else float(trial["mean"])


def _value(trial: dict[str, Any], unit: str) -> str:
    if trial["mean"] is None:
        return "tasks fail"
    low, high = trial["interval"] or (float("nan"), float("nan"))
    return figure_with_interval(trial["mean"], low, high, unit)
