"""What the shift experiment says, in a table for the terminal and in sentences made from the stored tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.words import standing, told_standing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIGURE_TITLES", "SHIFT_METHOD", "figure_title", "shift_setting", "shift_summary", "shift_text"]

SHIFT_METHOD = (
    "Forest and agent learn on the first workload from nothing, on seeds that the test does not use. Then tasks of "
    "the second workload come: the forest stays as it is (frozen), the agent goes on learning with a constant epsilon "
    "of 0.1, rewarded for execution time, without prior knowledge of durations. Every strategy meets the same tasks "
    "for the same seed; numbers in brackets are 95 % intervals of the mean over seeds (Student's t), unadjusted unless "
    "they say otherwise; they are cut off at zero, and those of the tasks until the agent had adapted at zero and at "
    "the number of tasks. Over all pairs of a measure Holm's method keeps the chance of any false winner at 5 %. The "
    "agent has adapted from the first task on after which its own decisions (without the random ones) stay within "
    "10 % of the best whole device for every task, in total. With one seed there are no intervals "
    "and no winners."
)
FIGURE_TITLES = {
    "frozen_forest_vs_agent": "frozen forest's time ÷ agent's time, all tasks",
    "agent_adapted_after": "tasks until the agent had adapted",
}


def figure_title(name: str) -> str:
    """A figure of the adaptation in words; the number of the last tasks is part of its name."""
    last = name.rpartition("_")[2]
    return FIGURE_TITLES.get(name, f"frozen forest's time ÷ agent's time, last {last} tasks")


def shift_setting(run: Mapping[str, Any]) -> str:
    """What was run, in a sentence."""
    shift, seeds = run["plan"]["shift"], run["seeds"]
    return (
        f"From {shift['before']} to {shift['after']}: {amount(run['tasks'], 'task')} after the shift on 1 CPU + "
        f"{amount(run['plan']['simulation']['num_gpus'], 'GPU')}, "
        f"{amount(len(run['schedulers']), 'strategy', 'strategies')}, "
        f"{'one seed' if seeds == 1 else f'{seeds} seeds'}."
    )


def shift_summary(run: Mapping[str, Any], read: Callable[[str], pd.DataFrame]) -> list[str]:
    """The findings: who fails, who adapts and how soon, and who leads."""
    figures = read("figures").set_index("figure")
    values = {str(name): figure_with_interval(*_ends(row)) for name, row in figures.iterrows()}
    overall, late, when = values
    adapted = int(read("adaptation")["agent_adapted"].sum())
    late_seeds = f" (in {adapted} of {run['seeds']} seeds; the others count as {run['tasks']:,})"
    return [
        shift_setting(run),
        f"The frozen forest took {values[overall]} times as long as the agent over all {run['tasks']:,} tasks, and "
        f"{values[late]} times over the last {late.rpartition('_')[2]}.{_shown(figures.loc[overall])}",
        f"The agent had adapted after {values[when]} tasks{late_seeds if adapted < run['seeds'] else ''}.",
        *_leaders(run, read("means"), read("pairs")),
    ]


def _ends(row: Any) -> tuple[float, float, float]:
    return float(row["mean"]), float(row["low"]), float(row["high"])


def _shown(row: Any) -> str:
    """Whether the ratio is shown to differ from one."""
    mean, low, high = _ends(row)
    if low != low:
        return " One seed shows no winner."
    if low <= 1.0 <= high:
        return " Over all tasks the interval holds 1: it is not decided."
    return " The forest fails and the agent adapts." if mean > 1.0 else " The forest did better than the agent."


def _leaders(run: Mapping[str, Any], means: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    if run["seeds"] < 2:
        return []
    sentences = []
    for metric, title in (("total_time_s", "Sum of execution times"), ("makespan_s", "Makespan")):
        found = standing(metric, means, pairs)
        if found is not None:
            value = figure_with_interval(*_ends(found.best))
            head = f"{title}: {label_of(str(found.best['scheduler']))} has the lowest mean, {value} s. "
            sentences.append(head + told_standing(found, "s", most_names=len(run["schedulers"])))
    return sentences


def shift_text(result: Mapping[str, Any]) -> str:
    """All strategies, fastest first, and the three figures, for the terminal."""
    lines = [f"{'strategy':12} {'sum of times s':>24} {'mean time s':>27} {'makespan s':>24}"]
    for name, row in sorted(result["strategies"].items(), key=lambda item: item[1]["total_time_s"]):
        cells = [_cell(row, key) for key in ("total_time_s", "mean_time_s", "makespan_s")]
        lines.append(f"{name:12} {cells[0]:>24} {cells[1]:>27} {cells[2]:>24}")
    if len(result["seeds"]) > 1:
        told = f"Means over {len(result['seeds'])} seeds with unadjusted 95 % intervals, cut off at zero"
        lines.append(f"{told} and, where they count tasks, at the number of tasks.")
    # A stored result has its keys in alphabetical order: the ratios come first.
    figures = sorted((key for key in result if f"{key}_ci" in result), key=lambda key: key == "agent_adapted_after")
    return "\n".join([*lines, *(f"{figure_title(key):52} {_cell(result, key)}" for key in figures)])


def _cell(row: Mapping[str, Any], key: str) -> str:
    ends = row[f"{key}_ci"]
    return figure(row[key]) if ends is None else figure_with_interval(row[key], ends[0], ends[1])
