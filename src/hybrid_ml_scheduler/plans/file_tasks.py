"""Tasks of a file where generated ones are usual: training takes its earlier part, tests take its later one."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch, stream
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import WorkloadChoice, plan_from_mapping
from hybrid_ml_scheduler.plans.training_and_test import BY_SEED, TRAINING_SEEDS_FROM, separation
from hybrid_ml_scheduler.workload import WorkloadParameters, generate

__all__ = [
    "FileTasks",
    "TaskSource",
    "choice_text",
    "file_input",
    "file_tasks",
    "from_zero",
    "separation_of",
    "tasks_of",
]


# What a file leaves open is drawn this often for training; more readings would teach little and cost minutes.
_TRAINING_DRAWS = 8


class FileTasks:
    """A file cut in time: training seeds get stretches of its earlier part, all other seeds of its later one.

    A seed chooses the stretch where the part is longer than asked for, and draws what the file leaves open.
    """

    def __init__(self, choice: WorkloadChoice, node: Node) -> None:
        self._apart = separation(choice, node)
        if not self._apart.is_apart:
            raise PlanError(self._apart.sentence)
        self._node = node
        self._read: dict[tuple[bool, int], TaskBatch] = {}
        earlier = self._part(True, TRAINING_SEEDS_FROM)
        if earlier.has_dependencies:
            raise PlanError(
                f"{choice.source}: learners are trained on independent tasks, and these wait for each other."
            )
        self.training_count, self.sentence = len(earlier), self._apart.sentence
        self.assumptions = earlier.assumptions

    def tasks(self, seed: int, count: int) -> TaskBatch:
        """At most `count` tasks that follow each other, the first of them at time 0."""
        training = seed >= TRAINING_SEEDS_FROM
        draw = TRAINING_SEEDS_FROM + seed % _TRAINING_DRAWS if training else seed
        part = self._part(training, draw)
        spare = len(part) - count
        begin = int(stream(seed, "file_tasks", "stretch").integers(spare + 1)) if spare > 0 else 0
        return from_zero(part.take(slice(begin, begin + count)))

    def _part(self, training: bool, draw: int) -> TaskBatch:
        """All tasks of a part; a reading is kept, since a search asks for thousands of stretches."""
        if (training, draw) not in self._read:
            choice = self._apart.training if training else self._apart.test
            self._read[training, draw] = replace(choice, num_tasks=None).tasks(draw, self._node)
        return self._read[training, draw]

    def at_rate(self, batch: TaskBatch, rate: float) -> TaskBatch:
        """The tasks with their gaps stretched so that so many arrive a second; infinity brings all at once."""
        span = float(batch.arrival_time[-1] - batch.arrival_time[0])
        factor = 0.0 if rate == math.inf or span == 0.0 else (len(batch) - 1) / span / rate
        return from_zero(batch, factor)


def choice_text(choice: WorkloadChoice) -> str:
    """A file and how it is read, as text: what a study stores and hands to its processes."""
    return json.dumps(choice.to_mapping(), sort_keys=True)


def file_input(text: str) -> dict[str, str]:
    """The file that such a text names, with the digest of its content."""
    path = Path(json.loads(text)["file"])
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


@lru_cache(maxsize=2)
def file_tasks(text: str, node: Node) -> FileTasks:
    """The file that such a text names, cut in time; a process reads it once."""
    return FileTasks(plan_from_mapping({"workload": json.loads(text)}).workload, node)


def from_zero(batch: TaskBatch, factor: float = 1.0) -> TaskBatch:
    """The batch with its first task at 0 and all gaps times a factor, still in order of arrival and id."""
    times = (batch.arrival_time - batch.arrival_time[0]) * factor
    times.flags.writeable = False
    return replace(batch, arrival_time=times).select(np.lexsort((batch.task_id, times)))


TaskSource = WorkloadParameters | FileTasks


def tasks_of(source: TaskSource, seed: int, count: int) -> TaskBatch:
    """So many tasks of a seed, drawn by laws or read from a file."""
    if isinstance(source, FileTasks):
        return source.tasks(seed, count)
    return generate(source.with_values({"num_tasks": count}), seed)


def separation_of(source: TaskSource) -> str:
    """How training and test lie apart, in words."""
    return source.sentence if isinstance(source, FileTasks) else BY_SEED
