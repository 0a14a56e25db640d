"""What it takes a strategy to decide about a task and to learn from it: the program's own time, no worker's."""

from __future__ import annotations

import statistics
import time
from collections import deque

from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.execution.devices import Device, places
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.runs.calibration import Calibration
from hybrid_ml_scheduler.execution.runs.modelled_run import work_of
from hybrid_ml_scheduler.execution.runs.streams import RealStream
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["decision_seconds"]

_TURNS = 3


def decision_seconds(strategy: Scheduler, tasks: RealStream, calibration: Calibration) -> float:
    """Seconds for each task, trainings included: the median of a few turns through these tasks, none of which runs.

    They are the processor's: what else happens to take its turn on the machine just then is no part of a decision.
    """
    return statistics.median(_turn(strategy, tasks, calibration) for _ in range(_TURNS))


def _turn(strategy: Scheduler, tasks: RealStream, calibration: Calibration) -> float:
    """All tasks come at once; whenever something is to end, it is what was placed first."""
    node = places([Device(name=name, workers=workers) for name, workers in calibration.devices.items()])
    durations = LearnedDurations([place.device for place in node])
    durations.learn(calibration.observations())
    placer = Placer(strategy, node, durations, seed=0)
    reserve, running, now_s = Reserve(placer), deque[Work](), 0.0
    works = [work_of(tasks, row, kind) for row, kind in enumerate(tasks.names())]
    begun = time.thread_time()
    for work in works:
        chosen = reserve.offer(work, now_s)
        if chosen is not None:
            work.place = chosen.place
            placer.loads[work.place].add(work)
            running.append(work)
    while running or reserve:
        running.extend(work for work, _ in reserve.refill(now_s))
        work = running.popleft()
        seconds = calibration.seconds(node[work.place].device, work.kind, work.size) or 0.0
        now_s += seconds / (calibration.devices[node[work.place].device] + 1)
        placer.loads[work.place].remove(work)
        placer.learn(work, seconds, now_s, cold=False)
    return (time.thread_time() - begun) / len(works)
