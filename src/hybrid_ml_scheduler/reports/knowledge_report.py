"""The PDF and the sentences of `hms knowledge`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import annex, plots
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.knowledge_study import knowledge_rows

__all__ = ["HEAD", "knowledge_page", "knowledge_summary", "table_rows"]

_METHOD = (
    "Every strategy meets the same tasks at every level. Latencies are means over seeds with 95 % intervals (Student's "
    "t), prices geometric means over seeds of latency ÷ latency of the same strategy told the truth."
)
HEAD = (
    "Load",
    "Strategy",
    "Told the truth s",
    "Told the formula s",
    "Learning s",
    "Formula ÷ truth",
    "Learning ÷ truth",
)


def rows_of(folder: ResultsFolder) -> list[Mapping[str, Any]]:
    """One row for each load and strategy."""
    return list(knowledge_rows(folder.read_table("levels"), folder.read_table("prices")))


def table_rows(folder: ResultsFolder) -> list[list[str]]:
    """The table as people read it, without its head."""
    rows = []
    for row in rows_of(folder):
        seconds = [_cell(row, f"{level}_s") for level in ("exact", "nominal", "learned")]
        prices = [_cell(row, f"{level}_price") for level in ("nominal", "learned")]
        rows.append([f"{row['load']:g}", label_of(row["scheduler"]), *seconds, *prices])
    return rows


def _cell(row: Mapping[str, Any], key: str) -> str:
    return figure_with_interval(row[key], *(row[f"{key}_ci"] or (math.nan, math.nan)))


def knowledge_summary(folder: ResultsFolder) -> list[str]:
    """For each load who is best while learning, what the formula alone costs, and how much of that is learned."""
    sentences, rows = [], rows_of(folder)
    for load in dict.fromkeys(row["load"] for row in rows):
        own = [row for row in rows if row["load"] == load]
        best = min(own, key=lambda row: float(row["learned_s"]))
        told = min(own, key=lambda row: float(row["nominal_s"]))
        sentences.append(
            f"Load {load:g}: while learning, {label_of(best['scheduler'])} has the lowest mean latency "
            f"({figure(best['learned_s'])} s; the best that is told only the formula, {label_of(told['scheduler'])}, "
            f"{figure(told['nominal_s'])} s). Its price of not knowing is {figure(best['learned_price'])}; with the "
            f"formula alone it would be {figure(best['nominal_price'])}."
        )
    return sentences


def knowledge_page(folder: ResultsFolder) -> Page:
    """Summary, the table of levels, plots and annex."""
    run = folder.read_json("run.json")
    source = run.get("source", "preset unknown")
    subtitle = f"{source}, {run['tasks']:,} tasks, {run['seeds']} seeds, levels exact, nominal and learned"
    page = Page(title="What not knowing costs", subtitle=subtitle)
    page.heading("Summary")
    page.bullets(knowledge_summary(folder))
    page.heading("Levels of knowledge")
    page.text("Mean latency at each level and the price of not knowing, each with its 95 % interval over seeds.")
    page.table([list(HEAD), *([cell.replace(" [", "\n[", 1) for cell in row] for row in table_rows(folder))])
    plots(page, folder)
    annex(page, run, _METHOD)
    return page
