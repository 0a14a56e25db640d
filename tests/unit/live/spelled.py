"""Rows of a race one by one, however they were taken."""

from __future__ import annotations

from dataclasses import replace

from hybrid_ml_scheduler.core import Outcome
from hybrid_ml_scheduler.live.records import Label, RacedStretch, Rows
from hybrid_ml_scheduler.physics import Tariff


def spelled_out(rows: Rows) -> Rows:
    """The same rows in the order of their tasks, with nothing left in stretches."""
    tasks, outcomes, labels = list(rows.tasks), list(rows.outcomes), list(rows.labels)
    for stretch in rows.stretches:
        tasks += list(stretch.batch)
        outcomes += outcomes_of(stretch)
        found = zip(stretch.batch, stretch.label_fraction.tolist(), stretch.label_s.tolist(), strict=True)
        labels += [Label(*one) for one in found]
    return replace(
        rows,
        tasks=sorted(tasks, key=lambda task: task.task_id),
        outcomes=sorted(outcomes, key=lambda one: one[1].task_id),
        labels=sorted(labels, key=lambda label: label.task.task_id),
        stretches=[],
    )


def outcomes_of(stretch: RacedStretch) -> list[tuple[str, Outcome]]:
    """What every strategy did, strategy by strategy."""
    ids = stretch.batch.task_id
    return [
        (name, outcome)
        for name, columns in stretch.runs.items()
        for outcome in columns.outcomes(ids, Tariff(columns.node))
    ]
