"""Parts that every report has: pairs with both intervals, plots, and the annex of plan, method and versions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.plots import CAPTIONS, plots_for
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.words import level_words
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.statistics import EQUAL, NOT_DECIDED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["annex", "cell", "merged_notes", "pair_table", "pairs_explained", "plots"]

_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)", re.ASCII)


def cell(row: Any, unit: str = "") -> str:
    """A mean with its interval below it, as a cell of a table."""
    text = figure_with_interval(row["mean"], row["low"], row["high"], unit)
    return text.replace(" %", "").replace(" [", "\n[", 1)


def pairs_explained(pairs: pd.DataFrame) -> str:
    """What the two intervals and the answer of a pair mean, in sentences."""
    level = level_words(pairs)
    looks = "" if level == "95 %" else f" The level is {level} because the race was looked at several times."
    return (
        f"The first interval is of this pair alone (unadjusted {level}), the second holds for all pairs of the metric "
        f"at once ({level}, Bonferroni).{looks} The answer follows Holm's p over all pairs, which decides a little "
        "more often than the second interval does; an unadjusted interval may leave out zero and the answer still be "
        "“not decided”."
    )


def pair_table(page: Page, title: str, pairs: pd.DataFrame, best: str, others: list[str]) -> None:
    """One strategy against others on one metric; the difference is best − other."""
    head = [f"Difference [unadjusted {level_words(pairs)}]", "All pairs at once", "Relative", "p (Holm)", "Answer"]
    rows = [[title, *head]]
    for other in others:
        found = pairs[pairs["first"].isin([best, other]) & pairs["second"].isin([best, other])].iloc[0]
        rows.append([f"{label_of(best)} − {label_of(other)}", *_pair_cells(found, best)])
    page.table(rows)


def _pair_cells(pair: Any, best: str) -> list[str]:
    forward = pair["first"] == best
    # Stored relative to the second; seen from the other side it is relative to the first.
    relative = pair["relative"] if forward else -pair["relative"] / (1.0 + pair["relative"])
    low, high = _turned(pair["low"], pair["high"], forward)
    low_all, high_all = _turned(pair.get("low_all", math.nan), pair.get("high_all", math.nan), forward)
    return [
        figure_with_interval(pair["difference"] if forward else -pair["difference"], low, high),
        f"[{figure(low_all)}, {figure(high_all)}]" if not math.isnan(low_all) else "–",
        figure(relative, "%"),
        "< 0.0001" if pair["p_holm"] < 1e-4 else figure(pair["p_holm"]),
        _answer(pair),
    ]


def _answer(pair: Any) -> str:
    """Who wins, or that it is not decided; folders of the first edition call that a tie."""
    if pair["winner"] == EQUAL:
        return "equal within 1 %"
    if pair["winner"] in (NOT_DECIDED, "tie"):
        return f"not decided by {amount(int(pair['count']), 'seed')}" if "count" in pair else "not decided"
    return label_of(pair["winner"])


def _turned(low: float, high: float, forward: bool) -> tuple[float, float]:
    return (low, high) if forward else (-high, -low)


def plots(page: Page, folder: ResultsFolder) -> None:
    """Every plot of the folder with its caption."""
    page.heading("Plots")
    for name in plots_for(folder.tables(), folder.read_table):
        path = folder.path / "plots" / f"{name}.png"
        if path.is_file():
            page.picture(path.read_bytes(), CAPTIONS[name])


def merged_notes(notes: Iterable[str]) -> list[str]:
    """Notes of many cells, each once: of those that differ in numbers only, one with the least and most of each."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(_NUMBER.sub("#", note), []).append(note)
    return [_spanned(group) for group in alike.values()]


def _spanned(group: list[str]) -> str:
    if len(group) == 1:
        return group[0]
    columns = iter(zip(*(_NUMBER.findall(note) for note in group), strict=True))
    spans = ([min(column, key=_value), max(column, key=_value)] for column in columns)
    text = _NUMBER.sub(lambda _: " to ".join(dict.fromkeys(next(spans))), group[0])
    return f"{text} ({len(group)} cells differ in these numbers.)"


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def annex(page: Page, run: Mapping[str, Any], method: str) -> None:
    """Method, assumptions, plan, versions and machine."""
    page.heading("Assumptions and method")
    page.bullets([method, *merged_notes(run["assumptions"])])
    modes = ", ".join(f"{label_of(name)}: {mode}" for name, mode in run["schedulers"].items() if mode != "none")
    if modes:
        page.text(f"Learning during the run: {modes}.")
    page.heading("Plan")
    page.text(f"Digest {run['plan_digest']}.")
    page.table(_in_two(_flat(run["plan"])))
    page.heading("Hardware and versions")
    page.text(f"Numbers of the node: {run['hardware']}. The machine below only computed the result.")
    facts = [*run["versions"].items(), *run["machine"].items()]
    page.table(_in_two([[str(key), str(value)] for key, value in facts]))


def _in_two(pairs: list[list[str]]) -> list[list[str]]:
    """Keys and values in two columns of pairs, read downwards."""
    half = (len(pairs) + 1) // 2
    right = [*pairs[half:], *([["", ""]] * (2 * half - len(pairs)))]
    return [["Key", "Value"] * 2, *(a + b for a, b in zip(pairs[:half], right, strict=True))]


def _flat(section: Mapping[str, Any], path: str = "") -> list[list[str]]:
    rows = []
    for key, value in section.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{path}{key}.")
        elif value is not None:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append([f"{path}{key}", shown])
    return rows
