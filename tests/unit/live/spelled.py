"""Rows of a race one by one, however they were taken."""

from __future__ import annotations

from dataclasses import replace
from heapq import merge
from itertools import chain

from hybrid_ml_scheduler.core import Outcome
from hybrid_ml_scheduler.live.records import Label, RacedStretch, Rows
from hybrid_ml_scheduler.physics import Tariff


def spelled_out(rows: Rows) -> Rows:
    """The same rows with nothing left in stretches: these are put where their tasks came, and nothing is sorted.

    What came one by one, and what came in stretches, stays in its order: were that wrong, it would be seen.
    """
    tasks = chain.from_iterable(one.batch for one in rows.stretches)
    outcomes = chain.from_iterable(map(outcomes_of, rows.stretches))
    labels = chain.from_iterable(map(labels_of, rows.stretches))
    return replace(
        rows,
        tasks=list(merge(rows.tasks, tasks, key=lambda task: task.task_id)),
        outcomes=list(merge(rows.outcomes, outcomes, key=lambda one: one[1].task_id)),
        labels=list(merge(rows.labels, labels, key=lambda label: label.task.task_id)),
        stretches=[],
    )


def labels_of(stretch: RacedStretch) -> list[Label]:
    """What the oracle said, task by task."""
    return list(map(Label, stretch.batch, stretch.label_fraction.tolist(), stretch.label_s.tolist()))


def outcomes_of(stretch: RacedStretch) -> list[tuple[str, Outcome]]:
    """What every strategy did, task by task, as single steps tell it."""
    ids = stretch.batch.task_id
    columns = [columns.outcomes(ids, Tariff(columns.node)) for columns in stretch.runs.values()]
    return [
        (name, one)
        for of_a_task in zip(*columns, strict=True)
        for name, one in zip(stretch.runs, of_a_task, strict=True)
    ]
