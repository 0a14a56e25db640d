"""Results on the terminal: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.text import amount

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hybrid_ml_scheduler.plans.metrics import MetricCard

__all__ = ["page", "print_json", "print_race", "print_rows", "print_schedulers"]

_MOST_NAMES = 3
_ENDLESS = 10_000


def print_json(value: Mapping[str, Any]) -> None:
    """Write JSON to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def print_schedulers(entries: Sequence[Mapping[str, Any]]) -> None:
    """List strategies with what they do."""
    from rich.table import Table

    table = Table(title="Strategies")
    for name in ("name", "kind", "what it does"):
        table.add_column(name)
    for entry in entries:
        table.add_row(entry["name"], entry["kind"], entry["summary"])
    page().print(table)


def print_race(result: Mapping[str, Any]) -> None:
    """Say who is best, then show every strategy beside the lower bound, best first."""
    from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS
    from hybrid_ml_scheduler.reports.words import headline_words, overload_warning

    plan, bound = result["plan"], result["lower_bound"]
    workload, gpus = plan["workload"], plan["simulation"]["num_gpus"]
    title = (
        f"{amount(result['tasks'], 'task')} of {workload.get('preset', workload.get('file'))} on 1 CPU + "
        f"{amount(gpus, 'GPU')}, seed {result['seed']}"
    )
    if result["seeds"] > 1:
        title += f" and the next {result['seeds'] - 1}, mean ± half of the 95 % interval"
    judged_by = result["judged_by"]
    rows = sorted(result["schedulers"].items(), key=lambda item: _rank(item[1][judged_by]))
    columns = [METRICS[key] for key in LISTS["race_table"]]
    shown = [*columns, METRICS["oom_count"]] if any(metrics.get("oom_count") for _, metrics in rows) else columns
    rule = (result["headline"] or {}).get("best_rule")
    table = _strategies(title, rows, shown, rule)
    known = [bound.get(metric.key) for metric in columns]
    table.add_section()
    table.add_row(
        "lower bound",
        "",
        *([""] if rule else []),
        *("" if value is None else _number(value) for value in known),
        style="dim",
    )
    tail = [METRICS[key] for key in LISTS["report_tail"] if rows and key in rows[0][1]]
    if any(metrics.get("within_deadline") is not None for _, metrics in rows):
        tail.append(METRICS["within_deadline"])
    console = page()
    warning, told = overload_warning(result), headline_words(result)
    if warning:
        console.print(warning, style="yellow", highlight=False)
    if told:
        console.print(told, style="bold", highlight=False)
    console.print(table)
    console.print(_strategies("how the slowest tasks fared", rows, tail))
    _explain(console, result)


def _rank(value: float | None) -> float:
    """A strategy without a value, all of whose tasks failed, comes last."""
    return math.inf if value is None else value


def _strategies(
    title: str, rows: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[MetricCard], rule: str | None = None
) -> Table:
    """A row for every strategy with these metrics; before them how many times the best rule's value each has."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("strategy", no_wrap=True)
    table.add_column("knows", no_wrap=True)
    if rule is not None:
        table.add_column(f"× {rule}", justify="right", no_wrap=True)
    for metric in columns:
        head = "did not fit" if metric.key == "oom_count" else f"{metric.short.lower()} {metric.unit}"
        table.add_column(head, justify="right", no_wrap=True)
    for name, metrics in rows:
        cells = (_cell(metrics, metric.key, metric.unit) for metric in columns)
        ratio = [] if rule is None else [_ratio(metrics)]
        table.add_row(name, metrics["knowledge"], *ratio, *cells)
    return table


def print_rows(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Rows of equal keys as a table; numbers with four digits, on the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in rows[0] if rows else ():
        is_number = any(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    page().print(table)


def page() -> Console:
    """The terminal, or where there is none a page so wide that no table is cut and no sentence broken."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_ENDLESS)


def _verdicts(result: Mapping[str, Any]) -> list[str]:
    """What the paired comparisons say about the leader of the metric that is judged, or that they say nothing."""
    metric, rows = result["judged_by"], result["schedulers"]
    pairs = [one for one in result["comparisons"] if one["metric"] == metric]
    leader = min(rows, key=lambda name: _rank(rows[name][metric]))
    found, ties = [], {}
    for pair in pairs:
        if leader not in (pair["first"], pair["second"]):
            continue
        other = pair["second"] if pair["first"] == leader else pair["first"]
        if pair["winner"] != leader:
            ties[other] = pair
            continue
        low, high = sorted(abs(end) for end in pair["difference_ci"])
        level = _level(result)
        p_value = "< 0.0001" if pair["p_holm"] < 1e-4 else f"{pair['p_holm']:.2g}"
        span = f"{_number(low)} to {_number(high)} s ({level}, paired; Holm's p {p_value})"
        found.append(f"{_judged(result)}: {leader} beats {other} by {span}.")
    return found + _tied(result, leader, ties) + _undecided(result)


def _level(result: Mapping[str, Any]) -> str:
    """What a pair's interval is: its own at the common level, or at the one that pays for looking several times."""
    level = f"{100 * result['comparison_level']:.3g} %"
    return f"{level} at this look, of this pair alone" if "undecided_pairs" in result else f"unadjusted {level}"


def _tied(result: Mapping[str, Any], leader: str, ties: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Pairs without a winner: equal as far as anybody could care, or not decided by so many seeds."""
    if len(ties) > _MOST_NAMES:
        equal = sum(pair["is_decided"] for pair in ties.values())
        return [
            f"{_judged(result)}: over all pairs (Holm's method), {len(ties)} strategies are not shown to differ from "
            f"{leader}: {equal} equal it within 1 %, {len(ties) - equal} are not decided by "
            f"{amount(result['seeds'], 'seed')} (--format json names them)."
        ]
    return [f"{_judged(result)}: " + _tie_words(result["seeds"], leader, other, pair) for other, pair in ties.items()]


def _tie_words(seeds: int, leader: str, other: str, pair: Mapping[str, Any]) -> str:
    if pair["is_decided"]:
        return f"{leader} and {other} are equal within 1 %."
    from hybrid_ml_scheduler.reports.words import power_words

    said = f"{leader} against {other} is not decided by {amount(seeds, 'seed')}"
    seen = (pair["would_have_shown"], pair["difference"], pair["seeds_suggested"])
    power = power_words(*seen, lambda value: f"{_number(value)} s")
    return f"{said}; {power}." if power else f"{said}."


def _undecided(result: Mapping[str, Any]) -> list[str]:
    pending = result.get("undecided_pairs", 0)
    seeds = amount(result["seeds"], "seed")
    return [f"{_judged(result)}: {amount(pending, 'pair')} undecided after {seeds}."] if pending else []


def _judged(result: Mapping[str, Any]) -> str:
    from hybrid_ml_scheduler.plans.metrics import METRICS

    return METRICS[result["judged_by"]].short.lower()


def _explain(console: Console, result: Mapping[str, Any]) -> None:
    console.print(
        "gap: how far the makespan lies above a bound that no schedule of these tasks on this node can beat "
        f"(proved by {result['lower_bound']['argument']}).",
        style="dim",
    )
    for sentence in [*_charged(result), *_memory(result), *_rounded(result)]:
        console.print(sentence, style="dim", highlight=False)
    for verdict in _verdicts(result):
        console.print(verdict, highlight=False)
    if "oracle" in result["schedulers"]:
        console.print(
            "oracle: least execution time on its grid; it ignores queues, so it is not optimal for latency.",
            style="dim",
        )
    for assumption in result["assumptions"]:
        console.print(f"assumed: {assumption}", style="yellow", highlight=False)


def _charged(result: Mapping[str, Any]) -> list[str]:
    """What energy and cost hold, where that is not the busy seconds alone."""
    physics, said = result["plan"]["physics"], []
    if physics.get("rental_of") == "node":
        said.append("cost: rent of the whole node from time zero to the last finish.")
    if any(metrics.get("idle_energy_j") for metrics in result["schedulers"].values()):
        said.append("energy: that of idle devices is in it.")
    return said


def _memory(result: Mapping[str, Any]) -> list[str]:
    """Whose shares did not fit a GPU's memory, and what became of them."""
    rule = result["plan"]["physics"].get("memory_rule", "cpu")
    fate = {"cpu": "ran on the CPU instead", "fail": "failed", "page": "were paged"}[rule]
    counts = {name: metrics.get("oom_count") or 0 for name, metrics in result["schedulers"].items()}
    return [
        f"memory: {amount(round(count), 'task')} of {name} did not fit the GPU it was given and {fate}."
        if round(count) == 1
        else f"memory: {amount(round(count), 'task')} of {name} did not fit the GPU they were given and {fate}."
        for name, count in counts.items()
        if count
    ]


def _rounded(result: Mapping[str, Any]) -> list[str]:
    """Whose shares of tasks that must not be cut went to the nearer whole device."""
    counts = {name: metrics.get("rounded_count") or 0 for name, metrics in result["schedulers"].items()}
    return [
        f"whole: {name} wanted to cut {amount(round(count), 'task')} that must not be cut; "
        f"{'it' if round(count) == 1 else 'each'} ran on the nearer whole device."
        for name, count in counts.items()
        if round(count)
    ]


def _cell(metrics: Mapping[str, Any], key: str, unit: str) -> str:
    from hybrid_ml_scheduler.plans.metrics import format_fixed

    value = metrics.get(key)
    if value is None:
        return "–"
    scale = 100.0 if unit == "%" else 1.0
    text = format_fixed(value * scale, 2) if unit == "%" else _number(value)
    ends = metrics.get(f"{key}_ci")
    if ends and None not in ends:
        if ends[0] == 0.0 < value:  # cut off at zero, so there is no half to tell
            return (
                f"{text} [0, {format_fixed(ends[1] * scale, 2)}]" if unit == "%" else f"{text} [0, {_number(ends[1])}]"
            )
        half = (ends[1] - ends[0]) / 2.0 * scale
        text += f" ±{half:,.0f}" if half >= 100.0 else f" ±{half:.2g}"
    return text


def _ratio(metrics: Mapping[str, Any]) -> str:
    value, ends = metrics.get("ratio_to_best_rule"), metrics.get("ratio_to_best_rule_ci")
    if value is None:
        return "–"
    span = "" if ends is None or None in ends or ends[0] == ends[1] else f" [{_number(ends[0])}, {_number(ends[1])}]"
    return _number(value) + span


def _number(value: float) -> str:
    """Three significant digits without exponents where that is readable."""
    if abs(value) < 1e-12:  # zero, or what rounding leaves of it
        return "0"
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{value:.3g}"
