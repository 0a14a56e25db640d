"""The assumptions that an answer may hang on, each with what would be otherwise if it did not hold.

To add one, append to `variations`: a name that reads well after "with", and a function that changes the tasks, or one
that says how many times the seconds on a node's GPUs are taken. Prices are varied without any run (`PRICES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.time_notes import scaling_errors, time_notes, type_notes
from hybrid_ml_scheduler.studies.recommending.question import Question
from hybrid_ml_scheduler.studies.recommending.running import Slower

__all__ = ["PRICES", "Variation", "notes", "variations"]

PRICES: Mapping[str, tuple[float, float]] = {
    "its price a quarter higher": (1.25, 1.0),
    "the other nodes a fifth cheaper": (1.0, 0.8),
}
"""By name, what the price of the recommended node and those of all others are multiplied by."""


def _as_they_are(batch: TaskBatch) -> TaskBatch:
    return batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One assumption made otherwise: other tasks, or other seconds on GPUs."""

    name: str
    tasks: Callable[[TaskBatch], TaskBatch] = _as_they_are
    slower: Slower | None = None


def variations(question: Question, batch: TaskBatch) -> list[Variation]:
    """What could be otherwise, of the assumptions that these tasks on these nodes rest on."""
    found = []
    if batch.arrival_time[0] != batch.arrival_time[-1]:
        found += [
            _scaled_column("a quarter more arrivals", "arrival_time", 1.0 / 1.25),
            _scaled_column("a fifth fewer arrivals", "arrival_time", 1.0 / 0.8),
        ]
    no_gpu = np.isnan(batch.gpu_time) & np.isnan(batch.gpu_times).all(axis=1)
    never = no_gpu & ~np.isnan(batch.cpu_time) & (batch.gpus_required > 0)
    if never.any():
        found.append(_without_gpus(never))
    if (np.isnan(batch.cpu_time) != no_gpu).any():
        found += [
            _scaled_column("guessed speed-ups a third higher", "speedup_factor", 4 / 3),
            _scaled_column("guessed speed-ups a quarter lower", "speedup_factor", 0.75),
        ]
    if any(note.startswith("guessed_memory") for note in batch.assumptions):
        found.append(_scaled_column("twice the guessed memory", "memory_required", 2.0))
    error = max(float(scaling_errors(batch, one.node).max()) for one in question.nodes)
    if error > 1.0:
        found += [
            Variation(name=f"GPU types {error:g} times slower than scaled (the error of the scaling)", slower=_slower),
            Variation(name=f"GPU types {error:g} times faster than scaled (the error of the scaling)", slower=_faster),
        ]
    return found


def _scaled_column(name: str, column: str, factor: float) -> Variation:
    def changed(batch: TaskBatch) -> TaskBatch:
        values = getattr(batch, column) * factor
        values.flags.writeable = False
        return replace(batch, **{column: values})

    return Variation(name=name, tasks=changed)


def _without_gpus(never: BoolColumn) -> Variation:
    """Tasks whose GPU time is guessed from a CPU time may not run on a GPU at all."""

    def changed(batch: TaskBatch) -> TaskBatch:
        gpus, divisible = np.where(never, 0, batch.gpus_required), batch.divisible & ~never
        for column in (gpus, divisible):
            column.flags.writeable = False
        return replace(batch, gpus_required=gpus, divisible=divisible)

    tasks = f"none of the {amount(int(never.sum()), 'task')} without a measured GPU time able to use a GPU"
    return Variation(name=tasks, tasks=changed)


def _slower(batch: TaskBatch, node: Node) -> FloatColumn:
    return scaling_errors(batch, node)


def _faster(batch: TaskBatch, node: Node) -> FloatColumn:
    return 1.0 / scaling_errors(batch, node)


_KNOWLEDGE = {
    "exact": "Policies know how long a task will take on each device before it runs, which no scheduler does",
    "nominal": "Policies know the formula's durations, or what a trace says beforehand, and never learn from what ends",
    "learned": "Policies begin with what is known beforehand of durations, and learn from the tasks that end",
}


def notes(question: Question, batch: TaskBatch, **found: Any) -> list[str]:
    """What is assumed of the nodes, of the policies and of chance."""
    examples = sum(one.is_example for one in question.nodes)
    priced = f" {examples} of {len(question.nodes)} prices are examples of the catalogue." if examples else ""
    skipped = found.get("skipped", 0)
    return [
        *_time_notes(question, batch),
        *type_notes(batch, [one.node for one in question.by_price]),
        f"The price of a node is for all of its time, busy or not.{priced}",
        f"{_KNOWLEDGE[question.knowledge]} (knowledge: {question.knowledge}).",
        *(
            [
                f"Some policies that wait or learn were not run on {skipped} of {len(question.searched)} nodes: the "
                "best of the others is there far below or above the limit."
            ]
            if skipped
            else []
        ),
        "An interval is Student's t over the runs with different seeds, which takes their values as nearly normal, cut "
        "off at 0; over two runs it is wide. Where seeds draw nothing, there is one run and no interval.",
    ]


def _time_notes(question: Question, batch: TaskBatch) -> list[str]:
    """Where the GPU seconds come from; types with the same sentence share it."""
    types: dict[str, list[str]] = {}
    for node in question.by_price:
        names = dict.fromkeys(gpu.type for gpu in node.node.gpus if gpu.type)
        for name, note in zip(names, time_notes(batch, node.node), strict=False):
            shared = types.setdefault(note.replace(f"GPU seconds on {name} ", "GPU seconds on {} ", 1), [])
            shared.extend([name] if name not in shared else [])
    return [note.replace("{}", ", ".join(names), 1) for note, names in types.items()]
