"""Which figures of a strategy stand, and which have a place: waiting tasks never make one look better than it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hybrid_ml_scheduler.live.frames import Bound, Comparison
from hybrid_ml_scheduler.plans.comparable import RANKED, is_covered, open_places

__all__ = ["Waited", "lower_ends", "with_places"]


class Waited(NamedTuple):
    """Compared tasks that wait: how many, how long so far together and at most, and how long the window has gone on."""

    tasks: int
    together_s: float
    longest_s: float
    passed_s: float


_SUMS = ("avg_time", "avg_latency", "avg_energy", "avg_cost")
_UNKNOWN = dict.fromkeys(
    (
        *_SUMS, "avg_wait", "p95_latency", "p99_9_latency", "longest_latency", "avg_slowdown", "longest_slowdown",
        "within_deadline", "makespan_gap", "time_gap", "efficiency", "avg_gpu_fraction",
    )
)  # fmt: skip


def lower_ends(row: Comparison, waited: Waited, bound: Bound | None = None) -> Comparison:
    """Return the row of a strategy that is behind: no means, and what its figures will be at least.

    A waiting task has not started, so that it adds its waiting to the latencies and nothing yet to all else. A `bound`
    that is proven for the compared tasks is a lower end, too.
    """
    tasks, proven = row.tasks + waited.tasks, bound or Bound()
    least = {
        name: mean * row.tasks / tasks if row.tasks else 0.0
        for name in _SUMS
        if (mean := getattr(row, name)) is not None or not row.tasks
    }
    least["avg_latency"] += waited.together_s / tasks
    if proven.execution_s is not None and proven.tasks:
        for name in ("avg_time", "avg_latency"):
            least[name] = max(least[name], proven.execution_s / proven.tasks)
    least["longest_latency"] = max(row.longest_latency or 0.0, waited.longest_s)
    least["makespan"] = max(row.makespan, waited.passed_s, proven.makespan_s or 0.0)
    changed: dict[str, Any] = {**_UNKNOWN, "makespan": least["makespan"]}
    return replace(row, is_behind=True, at_least=least, **changed)


def with_places(rows: Sequence[Comparison], compared: int, tasks: int) -> tuple[Comparison, ...]:
    """Return the rows of a window, each with those figures that have no place.

    A strategy that failed more tasks than another has none: its figures are of fewer tasks.
    """
    behind = [row.at_least for row in rows if row.at_least is not None] if is_covered(compared, tasks) else [{}]
    fewest = min((row.failed for row in rows if not row.is_behind), default=0)
    found = []
    for row in rows:
        figures = {name: getattr(row, name) for name in RANKED}
        places = RANKED if row.is_behind else open_places(figures, [{}] if row.failed > fewest else behind)
        found.append(replace(row, undecided=places))
    return tuple(found)
