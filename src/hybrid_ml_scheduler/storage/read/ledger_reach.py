"""Which rows of the ledger are meant: one run or all, one strategy, one device, a range of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, run_summaries, scheduler_results, stretches
from hybrid_ml_scheduler.storage.records import LedgerQuery

__all__ = ["Reach", "restrict_to_reach", "within"]

_NO_END = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The filters of a query; `first` and `last` are the ends of the range of tasks."""

    run_id: int | None
    scheduler: str | None
    device: str | None
    first: int
    last: int

    @classmethod
    def of(cls, query: LedgerQuery, floor: int) -> Reach:
        """Return the reach of a query; rows of tasks below the floor were removed."""
        first = query.first_task if query.task_id is None else query.task_id
        last = query.last_task if query.task_id is None else query.task_id
        return cls(
            run_id=query.run_id,
            scheduler=query.scheduler,
            device=query.device,
            first=floor if first is None else max(floor, first),
            last=_NO_END if last is None else last,
        )


def restrict_to_reach(query: sa.Select[Any], reach: Reach) -> sa.Select[Any]:
    """Restrict a query over the stretches to those that match."""
    if reach.run_id is not None:
        query = query.where(stretches.c.run_id == reach.run_id)
    if reach.scheduler is not None:
        query = query.where(stretches.c.scheduler_name == reach.scheduler)
    if reach.scheduler is None and reach.device is not None and reach.run_id is not None:
        # Named one by one, so that the index finds the device behind each of them.
        names = sa.select(run_summaries.c.scheduler_name).where(run_summaries.c.run_id == reach.run_id)
        query = query.where(stretches.c.scheduler_name.in_(names))
    return query.where(stretches.c.device == (ANY_DEVICE if reach.device is None else reach.device))


def within(query: sa.Select[Any], reach: Reach, first: int, last: int) -> sa.Select[Any]:
    """Restrict a query over the results to those that match among some tasks of one run."""
    query = query.where(scheduler_results.c.task_id.between(first, last))
    if reach.scheduler is not None:
        query = query.where(scheduler_results.c.scheduler_name == reach.scheduler)
    if reach.device is not None:
        query = query.where(scheduler_results.c.device == reach.device)
    return query
