"""FIFO and EASY backfilling on one machine of equal processors, written from the published description alone.

A. W. Mu'alem and D. G. Feitelson (2001), section 2: "EASY". Slow and plain: lists, a clock, and the two steps of the
paper. Nothing of the product is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Job", "start_times"]


@dataclass(frozen=True)
class Job:
    """When it is submitted, how many processors it needs, what it asked for and how long it really runs."""

    submitted: float
    processors: int
    requested: float
    runs: float


def start_times(jobs: list[Job], processors: int, *, backfills: bool) -> list[float]:
    """When each job starts; jobs are in order of submission."""
    starts = [-1.0] * len(jobs)
    queue: list[int] = []
    running: list[int] = []
    moments = sorted({job.submitted for job in jobs})
    while moments:
        now = moments.pop(0)
        running = [one for one in running if starts[one] + jobs[one].runs > now]
        queue += [one for one, job in enumerate(jobs) if job.submitted == now]
        before = len(running)
        _start_heads(jobs, queue, running, starts, processors, now)
        if backfills and queue:
            _backfill(jobs, queue, running, starts, processors, now)
        ends = {starts[one] + jobs[one].runs for one in running[before:]}
        moments = sorted(ends | set(moments))
    return starts


def _free(jobs: list[Job], running: list[int], processors: int) -> int:
    return processors - sum(jobs[one].processors for one in running)


def _start_heads(
    jobs: list[Job], queue: list[int], running: list[int], starts: list[float], processors: int, now: float
) -> None:
    while queue and jobs[queue[0]].processors <= _free(jobs, running, processors):
        starts[queue[0]] = now
        running.append(queue.pop(0))


def _backfill(
    jobs: list[Job], queue: list[int], running: list[int], starts: list[float], processors: int, now: float
) -> None:
    first = jobs[queue[0]]
    # Find the shadow time and the extra nodes.
    ends = sorted((max(starts[one] + jobs[one].requested, now), jobs[one].processors) for one in running)
    available, shadow = _free(jobs, running, processors), now
    for end, nodes in ends:
        if available >= first.processors and end > shadow:
            break
        available, shadow = available + nodes, end
    extra = available - first.processors
    # Find a backfill job, from the second one in the queue on.
    for one in queue[1:]:
        job = jobs[one]
        if job.processors > _free(jobs, running, processors):
            continue
        ends_in_time = now + job.requested <= shadow
        if ends_in_time or job.processors <= extra:
            starts[one] = now
            running.append(one)
            queue.remove(one)
            if not ends_in_time:
                extra -= job.processors
