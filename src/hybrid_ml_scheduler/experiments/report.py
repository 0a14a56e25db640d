"""The PDF report: summary in words, tables with intervals, plots, plan, versions, hardware, assumptions."""

from __future__ import annotations

import io
from typing import Any

from hybrid_ml_scheduler.experiments.folder import ResultsFolder
from hybrid_ml_scheduler.experiments.metrics import METRICS, figure, figure_with_interval
from hybrid_ml_scheduler.experiments.palette import label_of
from hybrid_ml_scheduler.experiments.plots import CAPTIONS, plots_for
from hybrid_ml_scheduler.experiments.report_page import Page
from hybrid_ml_scheduler.experiments.words import METHOD, executive_summary, setting

__all__ = ["report_pdf"]

_TITLES = {"heavy": "Heavy simulation", "pipeline": "Pipeline", "evaluate": "Evaluation"}
_RESULT_COLUMNS = (
    "mean_latency_s",
    "p95_latency_s",
    "mean_time_s",
    "makespan_s",
    "makespan_gap",
    "energy_j",
    "cost_usd",
)
_RESULT_WIDTHS = (2.4, 2.1, 2.1, 2.5, 2.1, 2.0, 2.75, 2.5)
_PAIR_METRICS = ("mean_latency_s", "makespan_s")


def report_pdf(folder: ResultsFolder) -> bytes:
    """The whole report as bytes; the same tables give the same bytes."""
    run = folder.read_json("run.json")
    page = Page(title=f"{_TITLES.get(folder.kind, folder.kind.capitalize())} report", subtitle=setting(run))
    page.heading("Summary")
    page.bullets(executive_summary(run, folder.read_table)[1:])
    _results(page, folder)
    _pairs(page, folder)
    _models(page, folder)
    _plots(page, folder)
    _annex(page, run)
    target = io.BytesIO()
    page.build(target)
    return target.getvalue()


def _results(page: Page, folder: ResultsFolder) -> None:
    intervals = folder.read_table("intervals")
    page.heading("Results")
    page.text("Mean over seeds and its 95 % interval, best mean latency first.")
    order = intervals[intervals["metric"] == "mean_latency_s"].sort_values("mean", kind="stable")["scheduler"]
    table = intervals.set_index(["scheduler", "metric"])
    rows = [["Strategy", *(_head(metric) for metric in _RESULT_COLUMNS)]]
    for name in order:
        cells = [table.loc[(name, metric)] for metric in _RESULT_COLUMNS]
        values = zip(_RESULT_COLUMNS, cells, strict=True)
        rows.append([label_of(name), *(_cell(cell, METRICS[metric].unit) for metric, cell in values)])
    page.table(rows, widths=_RESULT_WIDTHS)
    bounds = folder.read_table("metrics").drop_duplicates("seed")
    page.text(
        f"Proven lower bounds (mean over seeds): makespan {figure(float(bounds['makespan_bound_s'].mean()))} s, "
        f"mean execution time {figure(float(bounds['mean_time_bound_s'].mean()))} s."
    )


def _head(metric: str) -> str:
    unit = METRICS[metric].unit
    return METRICS[metric].title + (f" ({unit})" if unit else "")


def _cell(row: Any, unit: str) -> str:
    text = figure_with_interval(row["mean"], row["low"], row["high"], unit)
    return text.replace(" %", "").replace(" [", "\n[", 1)


def _pairs(page: Page, folder: ResultsFolder) -> None:
    comparisons = folder.read_table("comparisons")
    page.heading("Who beats whom")
    page.text("The best strategy of each metric against every other; the difference is best − other.")
    intervals = folder.read_table("intervals")
    for metric in _PAIR_METRICS:
        ranked = intervals[intervals["metric"] == metric].sort_values("mean", kind="stable")
        own = comparisons[comparisons["metric"] == metric]
        if not len(own):
            continue
        best = ranked.iloc[0]["scheduler"]
        rows = [[f"{METRICS[metric].title} ({METRICS[metric].unit})", "Difference", "Relative", "p (Holm)", "Answer"]]
        for other in ranked["scheduler"].iloc[1:]:
            pair = own[own["first"].isin([best, other]) & own["second"].isin([best, other])].iloc[0]
            rows.append([f"{label_of(best)} − {label_of(other)}", *_pair_cells(pair, best)])
        page.table(rows, widths=[5.6, 5.0, 2.2, 2.0, 3.4])


def _pair_cells(pair: Any, best: str) -> list[str]:
    forward = pair["first"] == best
    low, high = (pair["low"], pair["high"]) if forward else (-pair["high"], -pair["low"])
    # Stored relative to the second; seen from the other side it is relative to the first.
    relative = pair["relative"] if forward else -pair["relative"] / (1.0 + pair["relative"])
    winner = pair["winner"]
    return [
        figure_with_interval(pair["difference"] if forward else -pair["difference"], low, high),
        figure(relative, "%"),
        "< 0.0001" if pair["p_holm"] < 1e-4 else figure(pair["p_holm"]),
        "no difference shown" if winner == "tie" else label_of(winner),
    ]


def _models(page: Page, folder: ResultsFolder) -> None:
    """What was trained before the evaluation, where there was training."""
    if "forest" not in folder.tables():
        return
    found = folder.read_table("forest").iloc[0]
    page.heading("Models")
    page.text(
        f"The forest was trained on {int(found['samples']):,} labelled tasks. On {int(found['held_out']):,} tasks held "
        f"out, its share of the GPU is off by {figure(float(found['mean_error']))} on average (95 % of them by at most "
        f"{figure(float(found['p95_error']))}); always guessing the mean share is off by "
        f"{figure(float(found['mean_error_of_the_mean']))}. Forest and agent were trained on seeds that the evaluation "
        "does not use, and were frozen for it."
    )


def _plots(page: Page, folder: ResultsFolder) -> None:
    page.heading("Plots", room_cm=12.5)
    for name in plots_for(folder.tables()):
        path = folder.path / "plots" / f"{name}.png"
        if path.is_file():
            page.picture(path.read_bytes(), CAPTIONS[name])


def _annex(page: Page, run: dict[str, Any]) -> None:
    page.heading("Assumptions and method")
    page.bullets([METHOD, *run["assumptions"]])
    modes = ", ".join(f"{label_of(name)}: {mode}" for name, mode in run["schedulers"].items() if mode != "none")
    if modes:
        page.text(f"Learning during the run: {modes}.")
    page.heading("Plan")
    page.text(f"Digest {run['plan_digest']}.")
    page.table(_in_two(_flat(run["plan"])), widths=[4.6, 4.5, 4.6, 4.5])
    page.heading("Hardware and versions")
    page.text(f"Numbers of the node: {run['hardware']}. The machine below only computed the result.")
    facts = [*run["versions"].items(), *run["machine"].items()]
    page.table(_in_two([[str(key), str(value)] for key, value in facts]), widths=[4.6, 4.5, 4.6, 4.5])


def _in_two(pairs: list[list[str]]) -> list[list[str]]:
    """Keys and values in two columns of pairs, read downwards."""
    half = (len(pairs) + 1) // 2
    right = [*pairs[half:], *([["", ""]] * (2 * half - len(pairs)))]
    return [["Key", "Value"] * 2, *(a + b for a, b in zip(pairs[:half], right, strict=True))]


def _flat(section: dict[str, Any], path: str = "") -> list[list[str]]:
    rows = []
    for key, value in section.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{path}{key}.")
        elif value is not None:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append([f"{path}{key}", shown])
    return rows
