"""Shortest first with so little patience that tasks are overdue all the time, for a service that is killed."""

from __future__ import annotations

from hybrid_ml_scheduler.schedulers.holding.sjf import ShortestFirst


class AgedShortest(ShortestFirst):
    """A task that has waited as long as tasks take and wait in the mean goes first."""

    name = "aged_shortest"

    def __init__(self) -> None:
        super().__init__(aging=1.0)
