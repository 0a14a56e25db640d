"""A lightly loaded machine: tasks that find a worker at rest wait for it to wake, and meet cold caches.

Calibrating back to back misses that, and at half load most tasks are such tasks: latencies would be too short.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.executor import HybridExecutor
from hybrid_ml_scheduler.execution.runs.calibration import Factor
from hybrid_ml_scheduler.execution.runs.kinds import KINDS, Sizes
from hybrid_ml_scheduler.execution.runs.measured_run import wait_until
from hybrid_ml_scheduler.execution.runs.pinned import Pinned
from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = ["LightTask", "light_moments", "light_tasks", "rested_factors", "waking_s"]

_LOAD = 0.4
_LEAST_RUNS = 5
_MOST_TASKS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class LightTask:
    """A task of the light stream: when it was to come, its record, and whether its worker was at rest then."""

    planned_s: float
    device: str
    record: TaskRecord
    rested: bool
    others_busy: float  # how many workers of other devices were busy beside it, on average
    fellows_busy: float  # the same of its own device


def light_tasks(
    executor: HybridExecutor,
    pinned: Pinned,
    sizes: Sizes,
    alone: Mapping[tuple[str, str, int], float],
    places: Sequence[tuple[int, str]],
    seconds: float,
) -> list[LightTask]:
    """Let tasks come at random moments to each of these places, so that its workers rest most of the time.

    How long a rest is matters: a GPU that pauses for milliseconds is awake, and one that pauses for long is not. So
    every place has the same load, and a fast one gets as many more tasks as it is faster.
    """
    workers = {device: executor.num_workers - len(places) + 1 if device == CPU else 1 for _, device in places}
    first, begun = executor.next_task_id, executor.now_s() + 0.05
    coming = light_moments(sizes, alone, places, workers, seconds)
    futures = []
    for moment_s, place, kind, size in coming:
        wait_until(executor, begun + moment_s)
        pinned.place = place
        futures.append(executor.submit(KINDS[kind], size))
    for future in futures:
        future.exception()
    records = [one for one in executor.records() if one.task_id >= first and one.state == "done"]
    return _told(records, lambda record: begun + coming[record.task_id - first][0], workers)


def light_moments(
    sizes: Sizes,
    alone: Mapping[tuple[str, str, int], float],
    places: Sequence[tuple[int, str]],
    workers: Mapping[str, int],
    seconds: float,
) -> list[tuple[float, int, str, int]]:
    """Moment, place, kind and size of each task, in order: a Poisson process for each place."""
    found = []
    for place, device in places:
        rng = stream(0, "execution", "light", device)
        cases = [(kind, size) for kind in sizes if device in KINDS[kind].implementations for size in sizes[kind]]
        between_s = statistics.fmean(alone[device, kind, size] for kind, size in cases) / (_LOAD * workers[device])
        moment_s = float(rng.exponential(between_s))
        while moment_s < seconds:
            found.append((moment_s, place, *cases[int(rng.integers(len(cases)))]))
            moment_s += float(rng.exponential(between_s))
    return sorted(found)[:_MOST_TASKS]


def _told(
    records: Sequence[TaskRecord], planned: Callable[[TaskRecord], float], workers: Mapping[str, int]
) -> list[LightTask]:
    found = []
    by_start = sorted(records, key=lambda record: record.started_s)
    starts = [record.started_s for record in by_start]
    longest_s = max((record.finished_s - record.submitted_s for record in records), default=0.0)
    for one in records:
        mine = device_of(one)
        # Nobody else can have been there at the same time.
        first = bisect.bisect_left(starts, one.submitted_s - longest_s)
        near = by_start[first : bisect.bisect_right(starts, one.finished_s + longest_s)]
        beside = [other for other in near if other is not one and _overlap_s(one, other) > 0.0]
        fellows = [other for other in beside if device_of(other) == mine]
        waiting = [
            other for other in near
            if other is not one and device_of(other) == mine and other.submitted_s <= one.submitted_s < other.finished_s
        ]  # fmt: skip
        found.append(
            LightTask(
                planned_s=planned(one),
                device=mine,
                record=one,
                rested=len(waiting) < workers[mine],
                others_busy=_mean_busy(one, (other for other in beside if device_of(other) != mine)),
                fellows_busy=_mean_busy(one, fellows),
            )
        )
    return found


def device_of(record: TaskRecord) -> str:
    """The device of the place where a task ran."""
    return CPU if record.place == CPU else record.place.rsplit("_", 1)[0]


def _overlap_s(one: TaskRecord, other: TaskRecord) -> float:
    return min(one.finished_s, other.finished_s) - max(one.started_s, other.started_s)


def _mean_busy(one: TaskRecord, others: Iterable[TaskRecord]) -> float:
    return sum(_overlap_s(one, other) for other in others) / max(one.seconds, 1e-9)


def rested_factors(
    tasks: Sequence[LightTask],
    alone: Mapping[tuple[str, str, int], float],
    cross: Mapping[str, Mapping[str, Factor]],
    within: Mapping[str, Factor],
    slots: int,
) -> dict[str, Factor]:
    """How much slower a task is after its worker's rest than alone, and than what ran beside it explains.

    By device, and by `device:kind` where enough tasks of the kind came.
    """
    groups: dict[str, list[float]] = defaultdict(list)
    for task in tasks:
        if task.rested:
            kind = task.record.kind
            expected = alone[task.device, kind, int(task.record.size)]
            if kind in cross.get(task.device, {}):
                others = task.others_busy if task.device == CPU else task.others_busy / slots
                expected *= 1.0 + (cross[task.device][kind].value - 1.0) * min(others, 1.0)
            if task.device == CPU and kind in within and slots > 1:
                expected *= 1.0 + (within[kind].value - 1.0) * min(task.fellows_busy / (slots - 1), 1.0)
            for key in (task.device, f"{task.device}:{kind}"):
                groups[key].append(math.log(task.record.seconds / expected))
    return {
        key: Factor(
            value=math.exp(statistics.fmean(logs)),
            spread=statistics.stdev(logs) / math.sqrt(len(logs)),
            runs=len(logs),
        )
        for key, logs in groups.items()
        if len(logs) >= _LEAST_RUNS
    }


def waking_s(tasks: Sequence[LightTask]) -> float | None:
    """The mean seconds from the planned moment to the start where a worker was at rest, but for the worst twentieth."""
    waits = sorted(max(task.record.started_s - task.planned_s, 0.0) for task in tasks if task.rested)
    kept = waits[: max(len(waits) - len(waits) // 20, 1)]
    return statistics.fmean(kept) if len(kept) >= _LEAST_RUNS else None
