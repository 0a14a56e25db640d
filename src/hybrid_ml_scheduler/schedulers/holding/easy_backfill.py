"""EASY backfilling: first come, first served, and later tasks may start if the first one in the queue is not delayed.

Due to D. A. Lifka (1995), "The ANL/IBM SP scheduling system"; described step by step by A. W. Mu'alem and
D. G. Feitelson (2001), "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2
with backfilling". SLURM's default scheduler (`sched/backfill`) works by the same idea. The time that a task asks for is
the strategy's estimate of it when it becomes ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hybrid_ml_scheduler.core.holding import Commitment, HeldView
from hybrid_ml_scheduler.schedulers.holding.fifo import Fifo, Request

__all__ = ["EasyBackfill"]


class _Reservation(NamedTuple):
    """The GPUs of the pool where the first task will start, when, and how many of them it will leave over."""

    pool: frozenset[int]
    shadow_s: float
    extra: int


class EasyBackfill(Fifo):
    """As `fifo`, but the first task that cannot start gets a reservation, and later ones fill the gap before it.

    A later task starts now if it ends by then as asked for, or if it needs only GPUs that the first one leaves over.
    """

    name = "easy_backfill"
    reason = "the oldest task has a reservation; a later one starts first only if it does not delay it"

    def _on_gpus(self, cluster: HeldView) -> Iterator[Commitment]:
        yield from super()._on_gpus(cluster)
        if not self._gpus:
            return
        reserved, place = self._reservation(self._gpus[0], cluster), 1
        while place < len(self._gpus) and any(cluster.idle[1:]):
            request = self._gpus[place]
            lead, delays = self._filling(request, reserved, cluster)
            if lead < 0:
                place += 1
                continue
            reserved = reserved._replace(extra=reserved.extra - delays)
            del self._gpus[place]
            yield self._started(request, lead, cluster)

    def _reservation(self, first: Request, cluster: HeldView) -> _Reservation:
        """Where and when the first task can start by what the running tasks asked for: where it would end first."""
        now_s, found = cluster.now_s, []
        free_s = [now_s if idle else max(end, now_s) for idle, end in zip(cluster.idle[1:], self._ends_s, strict=True)]
        for lead, seconds in enumerate(first.seconds):
            pool = first.pool(lead)
            shadow_s = sorted(free_s[gpu] for gpu in pool)[first.width - 1]
            extra = sum(free_s[gpu] <= shadow_s for gpu in pool) - first.width
            found.append((shadow_s + seconds, lead, _Reservation(frozenset(pool), shadow_s, extra)))
        return min(found)[2]

    def _filling(self, request: Request, reserved: _Reservation, cluster: HeldView) -> tuple[int, int]:
        """The GPU that leads a task which delays nobody (-1: it would), and how many left-over GPUs it takes."""
        for lead in self._leads(request, cluster):
            if cluster.now_s + request.seconds[lead] <= reserved.shadow_s:
                return lead, 0
            taken = len(reserved.pool.intersection(self._members(request, lead, cluster)))
            if taken <= reserved.extra:
                return lead, taken
        return -1, 0
