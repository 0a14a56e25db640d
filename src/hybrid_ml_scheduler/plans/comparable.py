"""Which tasks strategies are compared over, and which places waiting tasks could change: one rule for every figure.

A comparison ends at the last task that every strategy in it has finished, together with all tasks before it. A strategy
that holds the end back by more than a tenth of the tasks (by any, of the first 100) is behind: the comparison goes on
without it, its waiting tasks count with the time that they have waited so far, and its figures are lower ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hybrid_ml_scheduler.plans.metrics import CATALOGUE, LISTS

__all__ = ["RANKED", "compared_up_to", "is_covered", "open_places", "patience"]

_SHARE = 10  # one task in ten
_MOST_TASKS = 1000
_FEW = 100  # of fewer tasks, one that nobody starts could be the first of its sort

RANKED: tuple[str, ...] = tuple(
    dict.fromkeys(
        wire
        for key in (*LISTS["live_race"], *LISTS["live_table"])
        if (wire := CATALOGUE[key].wire) is not None and CATALOGUE[key].unit != "tasks"
    )
)
"""The figures that strategies get a place by, with their names on the wire."""


def patience(tasks: int) -> int:
    """Return how many of the newest tasks a comparison may leave out while strategies finish them."""
    return min(tasks // _SHARE, _MOST_TASKS) if tasks >= _FEW else 0


def compared_up_to(done: Iterable[int], first: int, last: int, before: int | None = None) -> int:
    """Return the last task of the comparison over the tasks `first` to `last`.

    `done` has for each strategy the last task up to which it has finished all; `before` is an earlier answer, which the
    comparison never goes back behind. A strategy whose own entry is less than the answer is behind.
    """
    known = list(done)
    if not known:
        return first - 1
    least = max(max(known) - patience(last - first + 1), first - 1 if before is None else before)
    return min((up_to for up_to in known if up_to >= least), default=least)


def is_covered(compared: int, tasks: int) -> bool:
    """Whether a comparison over so many of the tasks is enough to give places."""
    return compared > 0 and tasks - compared <= patience(tasks)


def open_places(row: Mapping[str, float | None], behind: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """Return the ranked figures of a row whose place the waiting tasks of others could still change.

    `behind` has the lower ends of each strategy that is behind; a figure without a lower end is open.
    """
    return tuple(
        name
        for name in RANKED
        if (value := row.get(name)) is not None and any(not low.get(name, float("-inf")) > value for low in behind)
    )
