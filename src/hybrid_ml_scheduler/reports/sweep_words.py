"""What a sweep says, in sentences made from its tables and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.studies.sweep_tables import parameters

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SWEEP_METHOD", "sweep_setting", "sweep_summary"]

SWEEP_METHOD = (
    "A cell is one point of the grid on one seed; in a cell every strategy meets the same tasks. A pair of numbers in "
    "brackets is a 95 % interval of the mean over the seeds of a point (Student's t), unadjusted, and cut off at zero. "
    "At each point strategies are compared by their differences seed by seed (paired t test), with Holm's method over "
    "all pairs of a metric at that point. Points are judged one by one: among many of them a few false winners are to "
    "be expected. With one seed, or where every seed gives the same tasks, no winner is named."
)


def sweep_setting(run: Mapping[str, Any]) -> str:
    """What was run, in a sentence."""
    grid = ", ".join(f"{key} ({_counted(count, 'value')})" for key, count in run["grid"].items())
    seeds = "one seed" if run["seeds"] == 1 else f"{run['seeds']} seeds"
    return f"{_counted(run['cells'], 'cell')}: {grid} on {seeds}, {_counted(len(run['schedulers']), 'strategy')}."


def sweep_summary(run: Mapping[str, Any], read: Callable[[str], pd.DataFrame]) -> list[str]:
    """Who leads at how many points, metric by metric, and what is missing."""
    leaders = read("leaders")
    sentences = [sweep_setting(run), *(_leads(metric, leaders) for metric in LISTS["summary"])]
    if run["failures"]:
        sentences.append(
            f"{run['failures']} of {_counted(run['cells'], 'cell')} failed and are missing; failures.json names them."
        )
    return [sentence for sentence in sentences if sentence]


def _leads(metric: str, leaders: pd.DataFrame) -> str:
    own = leaders[leaders["metric"] == metric]
    if not len(own) or not (own["beaten"] + own["tied"]).any():
        return ""
    counts = own["scheduler"].value_counts(sort=False).sort_values(ascending=False, kind="stable")
    (first, most), *rest = ((label_of(str(name)), int(count)) for name, count in counts.items())
    others = "".join(f", {name} at {count}" for name, count in rest)
    points = _counted(_points(own), "point")
    text = f"{METRICS[metric].title}: {first} has the lowest mean at {most} of {points}{others}"
    if not own["low"].notna().any():
        return f"{text}. One seed shows no winner."
    clear = int(((own["tied"] == 0) & (own["beaten"] > 0)).sum())
    return f"{text}; the leader is shown to beat every other at {clear or 'none'} of them."


def _points(own: pd.DataFrame) -> int:
    return len(own[parameters(own)].drop_duplicates())


def _counted(count: int, thing: str) -> str:
    """`1 cell`, `24 cells`, `5 strategies`."""
    if count == 1:
        return f"1 {thing}"
    return f"{count:,} {thing[:-1]}ies" if thing.endswith("y") else f"{count:,} {thing}s"
