"""A part of a file's tasks in order of arrival, so that training and test can lie apart in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.tasks import IntColumn
from hybrid_ml_scheduler.core.text import amount

__all__ = ["WHOLE", "Part", "parents_within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The tasks from one share of a file to another, by order of arrival: 0 to 0.5 is the earlier half."""

    begin: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.begin < self.end <= 1.0:
            raise PlanError(f"workload.part = [{self.begin:g}, {self.end:g}] must be two rising shares within [0, 1].")

    @classmethod
    def from_value(cls, value: Any) -> Part | None:
        """Read a part from a plan: two numbers, or nothing."""
        if value is None or isinstance(value, Part):
            return value
        numbers = isinstance(value, Sequence) and len(value) == 2 and all(type(one) in (int, float) for one in value)
        if not numbers:
            raise PlanError(f"workload.part = {value!r} must be two rising shares within [0, 1], such as [0, 0.5].")
        return cls(begin=float(value[0]), end=float(value[1]))

    def rows(self, count: int, limit: int | None) -> slice:
        """Which of so many tasks belong to the part, at most `limit` of them."""
        begin, end = round(self.begin * count), round(self.end * count)
        return slice(begin, end if limit is None else min(end, begin + limit))

    def words(self, count: int, kept: int) -> str:
        """What was taken, in a sentence."""
        return (
            f"part: {kept:,} of {count:,} tasks, those from {self.begin:.0%} to {self.end:.0%} in order of arrival; "
            "the first of them arrives at 0."
        )


WHOLE = Part()


def parents_within(
    parent_ids: IntColumn, offsets: IntColumn, kept: IntColumn, earlier: IntColumn, source: str
) -> tuple[IntColumn, IntColumn, int]:
    """Offsets and parents without those that ran before the part, and how many these were.

    A parent that is neither kept nor earlier would never run: it is refused.
    """
    inside, before = np.isin(parent_ids, kept), np.isin(parent_ids, earlier)
    lost = np.flatnonzero(~inside & ~before)
    if len(lost):
        raise WorkloadError(
            f"{source}: the limit of {amount(len(kept), 'task')} leaves out task {parent_ids[lost[0]]}, "
            "on which a kept one depends."
        )
    counts = np.concatenate(([0], np.cumsum(inside)))
    return counts[offsets].astype(np.int64), parent_ids[inside], int(before.sum())
