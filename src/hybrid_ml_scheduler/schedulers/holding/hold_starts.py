"""What starts at once under `rl_hold` where devices take tasks, or where some tasks need several GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import Decision, FloatColumn, Task, Terms
from hybrid_ml_scheduler.core.holding import HeldStage, HeldView
from hybrid_ml_scheduler.core.tasks import BoolColumn, IntColumn
from hybrid_ml_scheduler.physics.gangs import kind_counts
from hybrid_ml_scheduler.physics.held_choices import pull_key, whole_seconds
from hybrid_ml_scheduler.physics.held_gangs import plan_beside_gangs
from hybrid_ml_scheduler.schedulers.holding.keyed import HeldQueue
from hybrid_ml_scheduler.schedulers.holding.overruns import expected_backlogs, note_due
from hybrid_ml_scheduler.schedulers.holding.replaying import DEPTH
from hybrid_ml_scheduler.schedulers.holding.waiting import Waiting

__all__ = ["Cuts", "Start", "planned_beside_gangs", "pull"]

TermsOf = Callable[[Task], Terms]
NextPlace = Callable[[Container[int], FloatColumn, HeldView], int]
Start = tuple[int, Decision]
"""The place in the queue of a task that starts, and where. Whoever gets it takes the task out of the queue."""


class Cuts(NamedTuple):
    """Where a task may be cut, the price of device-seconds, and the longest part of every device in seconds."""

    grid: FloatColumn
    price: float
    limits_s: FloatColumn


def pull(queue: HeldQueue, waiting: Waiting, stage: HeldStage, terms_of: TermsOf, idle: BoolColumn) -> Iterator[Start]:
    """Idle devices take whole tasks, the GPUs by number, then the CPU; the overdue first."""
    known: dict[int, tuple[FloatColumn, IntColumn]] = {}
    devices, left = len(idle), DEPTH
    for device in (*range(1, devices), 0):
        best, chosen = (math.inf, 0), -1
        for place, (_, identity, task) in enumerate(queue[:DEPTH] if idle[device] and left else ()):
            if identity not in known:
                terms, whole_s = terms_of(task), np.empty(devices)
                whole_seconds(terms, whole_s)
                known[identity] = whole_s, terms[3]
            key = pull_key(device, *known[identity], stage.slowest, stage.affinity, task.arrival_time, stage.patience)
            if key < math.inf and (key, identity) < best:
                best, chosen = (key, identity), place
                if place < waiting.overdue:
                    break
        if chosen >= 0:
            left -= 1
            yield chosen, Decision(gpu_fraction=1.0, gpu=device - 1) if device else Decision(gpu_fraction=0.0, gpu=0)


def planned_beside_gangs(
    queue: HeldQueue,
    cuts: Cuts,
    cluster: HeldView,
    terms_of: TermsOf,
    idle: BoolColumn,
    due_s: FloatColumn,
    next_place: NextPlace,
) -> Iterator[Start]:
    """Tasks plan as `next_place` says; a gang starts when all its GPUs are idle, and reserves them until then.

    `due_s` is when devices were last believed to be free (see `holding.overruns`).
    """
    backlog = expected_backlogs(cluster, idle, due_s)
    gap_s, fellows = np.full(len(backlog), math.inf), np.empty(max(len(backlog) - 2, 1), np.int32)
    planned: set[int] = set()
    for _ in range(DEPTH):
        place = next_place(planned, backlog, cluster) if idle.any() else -1
        if place < 0:
            return
        task = queue[place][2]
        terms, width = terms_of(task), task.gpus_required
        counts, before = kind_counts(terms[3]), backlog.copy()
        fraction, gpu, starts = plan_beside_gangs(
            terms, width, counts, backlog, idle, gap_s, *cuts, fellows[: max(width - 1, 1)]
        )
        if starts:
            note_due(cluster.now_s, before, backlog, due_s)
            yield place, Decision(gpu_fraction=fraction, gpu=gpu)
        else:
            planned.add(task.task_id)
