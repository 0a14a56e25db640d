"""Several tasks at once on a cluster that is not idle: what compiled code is told, and what is made of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from hybrid_ml_scheduler.cluster.devices import QueuedPart
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator, Lesson
from hybrid_ml_scheduler.cluster.onward import DRIFTS, OPEN, Factors, Lessons, Queues, run_onward
from hybrid_ml_scheduler.cluster.parts import PART_COLUMNS
from hybrid_ml_scheduler.cluster.stepping import Cluster
from hybrid_ml_scheduler.core.decisions import Outcome
from hybrid_ml_scheduler.core.protocols import BatchRule
from hybrid_ml_scheduler.core.tasks import Task, TaskBatch
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.engine.rules import at_once_rule
from hybrid_ml_scheduler.engine.start import output_columns
from hybrid_ml_scheduler.physics.durations import Durations, batch_terms
from hybrid_ml_scheduler.physics.gangs import has_gangs

__all__ = ["Finish", "goes_on", "run_on"]

# When a task finishes, its place among the decisions, what a learner sees of it then, and what it will have taught.
Finish = tuple[float, int, Task | None, Outcome | None, Lesson | None]
# The same of a task that only durations are learned from.
OpenLesson = tuple[float, int, Lesson]


def goes_on(cluster: Cluster, batch: TaskBatch) -> bool:
    """Whether the compiled form serves: noise has been met already, and every task is one that may be cut."""
    is_simple = cluster.node.cpu.slots == 1 and not has_gangs(batch) and bool(batch.divisible.all())
    return is_simple and not any(device.is_exact for device in cluster.devices)


def run_on(
    cluster: Cluster,
    batch: TaskBatch,
    rule: BatchRule,
    seconds: Durations,
    factors: Factors,
    decided: int,
    finishes: list[Finish],
) -> RunColumns:
    """Decide and place independent tasks as they arrive, as if one by one; the cluster and what it learns move on.

    `decided` tasks came before these; `finishes` is the heap of those that still have something to teach.
    """
    learned = cluster.estimator if isinstance(cluster.estimator, LearnedEstimator) else None
    lessons = None if learned is None else _lessons(learned, batch, _due(finishes, float(batch.arrival_time[-1])))
    columns, queues = RunColumns.empty(batch, cluster.node), _queues(cluster, batch)
    terms, free = batch_terms(batch, cluster.node, seconds), cluster.free_s()
    books = None if cluster.books is None else cluster.books.column
    run_onward(
        at_once_rule(rule, len(batch), cluster.node.num_gpus),
        batch.arrival_time,
        terms,
        factors,
        lessons,
        queues,
        free,
        books,
        decided,
        output_columns(columns, np.empty(0)),
    )
    _extend(cluster, batch, columns, queues)
    if cluster.books is not None and books is not None:
        cluster.books.ends_s = books.tolist()
    if learned is not None and lessons is not None:
        for finish_s, turn, lesson in _lessons_left(learned, lessons):
            heappush(finishes, (finish_s, turn, None, None, lesson))
    return columns


def _due(finishes: list[Finish], until_s: float) -> list[OpenLesson]:
    """Take the lessons off the heap that come until then."""
    due: list[OpenLesson] = []
    while finishes and finishes[0][0] <= until_s:
        finish_s, turn, _, _, lesson = heappop(finishes)
        if lesson is not None:
            due.append((finish_s, turn, lesson))
    return due


def _queues(cluster: Cluster, batch: TaskBatch) -> Queues:
    """The queues of all devices as far as they can be met: what ends meanwhile, the part behind that, and the last."""
    until_s, room = float(batch.arrival_time[-1]), 2 * len(batch)
    heads, tails, chain = [], [], [-1] * room
    parts: list[QueuedPart] = []
    for device in cluster.devices:
        ahead = device.ahead(until_s)
        first = room + len(parts)
        heads.append(first if ahead else -1)
        tails.append(first + len(ahead) - 1 if ahead else -1)
        chain += [*range(first + 1, first + len(ahead)), -1] if ahead else []
        parts += ahead
    table = np.empty((room + len(parts), PART_COLUMNS))
    if parts:
        table[room:] = [part[:PART_COLUMNS] for part in parts]
    return Queues(np.array(heads), np.array(tails), np.array(chain), table)


def _extend(cluster: Cluster, batch: TaskBatch, columns: RunColumns, queues: Queues) -> None:
    """Queue the parts that were placed, each with what was promised to it."""
    parts: list[list[QueuedPart]] = [[] for _ in cluster.devices]
    rows = zip(
        batch.task_id.tolist(),
        columns.gpu.tolist(),
        columns.cpu_s.tolist(),
        columns.gpu_s.tolist(),
        queues.table[: 2 * len(batch)].reshape(len(batch), 2, PART_COLUMNS).tolist(),
        strict=True,
    )
    for identity, gpu, cpu_s, gpu_s, (on_cpu, on_gpu) in rows:
        if cpu_s > 0.0:
            parts[0].append((*on_cpu, identity))
        if gpu_s > 0.0:
            parts[gpu + 1].append((*on_gpu, identity))
    for device, own in zip(cluster.devices, parts, strict=True):
        device.extend(own, float(batch.arrival_time[-1]))


def _lessons(learned: LearnedEstimator, batch: TaskBatch, open_lessons: Sequence[OpenLesson]) -> Lessons:
    """Room for what the tasks will teach, and behind it what earlier ones teach meanwhile, in order of finish."""
    record, model, count = learned.record, learned.model, len(batch)
    codes = np.array([record.row(name) for name in batch.kind_names])[batch.kind]
    before = [record.row(lesson.kind) for _, _, lesson in open_lessons]
    model.reserve(len(model.kinds) + len(record.kinds))
    total, first = count + len(open_lessons), slice(count, None)
    lessons = Lessons(
        kind=np.append(codes, np.array(before, dtype=np.int64)),
        finish=np.empty(total),
        turn=np.empty(total, dtype=np.int64),
        gpu_type=np.empty(total, dtype=np.int64),
        ratios=np.zeros((total, 2)),
        told=np.empty((total, 2)),
        heap=np.append(np.arange(count, total), np.empty(count, dtype=np.int64)),  # what is sorted is a heap
        counts=np.array([len(open_lessons), len(model.kinds), 0]),
        place=np.array([model.kinds.get(name, -1) for name in record.kinds]),
        cells=model.cells,
        types=model.types,
        shared=model.shared,
        prior=model.prior,
        record=record.table,
    )
    if open_lessons:
        finish, turn, taught = zip(*open_lessons, strict=True)
        lessons.finish[first], lessons.turn[first] = finish, turn
        lessons.gpu_type[first] = [one.gpu_type for one in taught]
        lessons.ratios[first] = [(one.cpu_ratio, one.gpu_ratio) for one in taught]
        lessons.told[first] = [(one.cpu_believed, one.gpu_believed) for one in taught]
    return lessons


def _lessons_left(learned: LearnedEstimator, lessons: Lessons) -> list[OpenLesson]:
    """Note what was learned, and return the lessons that are still to come."""
    model, names = learned.model, list(learned.record.kinds)
    for place, name in sorted((place, names[row]) for row, place in enumerate(lessons.place.tolist()) if place >= 0):
        model.kinds.setdefault(name, place)
    model.drifts += int(lessons.counts[DRIFTS])
    learned.look_again()
    rows = lessons.heap[: lessons.counts[OPEN]]
    columns = (lessons.finish, lessons.turn, lessons.kind, lessons.gpu_type, lessons.ratios, lessons.told)
    values = zip(*(one[rows].tolist() for one in columns), strict=True)
    return [
        (finish, turn, Lesson(names[kind], ratios[0], ratios[1], gpu_type, told[0], told[1]))
        for finish, turn, kind, gpu_type, ratios, told in values
    ]
