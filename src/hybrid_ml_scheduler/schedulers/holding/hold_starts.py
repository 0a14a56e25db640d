"""What starts at once under `rl_hold` where devices take tasks, or where some tasks need several GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, Decision, FloatColumn, Task, Terms
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.holding import HeldStage, HeldView
from hybrid_ml_scheduler.core.tasks import BoolColumn, IntColumn
from hybrid_ml_scheduler.physics.choices import row_terms
from hybrid_ml_scheduler.physics.gangs import kind_counts
from hybrid_ml_scheduler.physics.held_choices import pull_key, whole_seconds
from hybrid_ml_scheduler.physics.held_gangs import plan_beside_gangs
from hybrid_ml_scheduler.schedulers.holding.keyed import HeldQueue
from hybrid_ml_scheduler.schedulers.holding.overruns import expected_backlogs, note_due
from hybrid_ml_scheduler.schedulers.holding.replaying import DEPTH
from hybrid_ml_scheduler.schedulers.holding.waiting import Waiting

__all__ = ["Cuts", "Start", "planned_beside_gangs", "pull"]

TermsOf = Callable[[Task], Terms]
TermsOfMany = Callable[[Sequence[Task]], BatchTerms]
NextPlace = Callable[[Container[int], FloatColumn, HeldView], int]
Start = tuple[int, Decision]
"""The place in the queue of a task that starts, and where. Whoever gets it takes the task out of the queue."""


class Cuts(NamedTuple):
    """Where a task may be cut, the price of device-seconds, and the longest part of every device in seconds."""

    grid: FloatColumn
    price: float
    limits_s: FloatColumn


def pull(
    queue: HeldQueue, waiting: Waiting, stage: HeldStage, terms_of: TermsOfMany, idle: BoolColumn
) -> Iterator[Start]:
    """Idle devices take whole tasks, the GPUs by number, then the CPU; the overdue first."""
    devices, left = len(idle), DEPTH
    whole_s, gpu_kind = np.empty((0, devices)), np.empty(0, dtype=np.int64)
    for device in (*range(1, devices), 0):
        if not (idle[device] and left and queue):
            continue
        entries = queue[:DEPTH]
        fresh = [task for _, _, task in entries[len(whole_s) :]]
        if fresh:
            terms = terms_of(fresh)
            whole_s, gpu_kind = np.concatenate((whole_s, whole_rows(terms, devices))), terms.gpu_kind
        ids, since_s = (np.array(column) for column in zip(*((i, t.arrival_time) for _, i, t in entries), strict=True))
        chosen = choose_pulled(
            device, whole_s, gpu_kind, stage.slowest, stage.affinity, stage.patience, since_s, ids, waiting.overdue
        )
        if chosen >= 0:
            left -= 1
            whole_s = np.delete(whole_s, chosen, axis=0)
            yield chosen, Decision(gpu_fraction=1.0, gpu=device - 1) if device else Decision(gpu_fraction=0.0, gpu=0)


@compiled(nogil=True)
def whole_rows(tasks: BatchTerms, devices: int) -> FloatColumn:
    """Seconds of every whole task on every device, the CPU first (`whole_seconds`)."""
    found = np.empty((tasks.cpu_s.shape[0], devices))
    for row in range(tasks.cpu_s.shape[0]):
        whole_seconds(row_terms(tasks, row), found[row])
    return found


@compiled(nogil=True)
def choose_pulled(
    device: int,
    whole_s: FloatColumn,
    gpu_kind: IntColumn,
    slowest: float,
    affinity: float,
    patience: float,
    since_s: FloatColumn,
    identities: IntColumn,
    overdue: int,
) -> int:
    """The place of the task that an idle device takes, by `pull_key` and then by id; -1: it wants none."""
    best, chosen = math.inf, -1
    for place in range(whole_s.shape[0]):
        key = pull_key(device, whole_s[place], gpu_kind, slowest, affinity, since_s[place], patience)
        if key < best or (key == best < math.inf and identities[place] < identities[chosen]):
            best, chosen = key, place
            if place < overdue:
                break
    return chosen


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
