"""Seeded tasks: an endless stream, and a batch that is the beginning of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import Task, TaskBatch
from hybrid_ml_scheduler.core.validation import MOST_SEED
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.columns import batch_of
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters

__all__ = ["TaskStream", "check_seed", "generate"]

_AHEAD = 256


def check_seed(seed: int) -> None:
    """Refuse a seed that no random stream can take."""
    if not 0 <= seed <= MOST_SEED:
        raise PlanError(f"seed = {seed} must be a whole number from 0 to {MOST_SEED}.")


def generate(parameters: WorkloadParameters, seed: int) -> TaskBatch:
    """Return `num_tasks` tasks: exactly the first ones of `TaskStream(parameters, seed)`."""
    return TaskStream(parameters, seed).next_chunk(parameters.num_tasks)


class TaskStream:
    """Tasks without end, in constant memory; the same seed gives the same tasks in chunks of any size.

    `shift` changes the laws from the next task on: clock, ids and random streams continue.
    """

    knows_scale = True  # the formula gives seconds

    def __init__(self, parameters: WorkloadParameters, seed: int, *, first_task_id: int = 0) -> None:
        check_seed(seed)
        self._parameters = parameters
        self._seed = seed
        self._first_id = first_task_id
        self._drawn = 0
        self._clock_s = 0.0
        self._rng = draws.streams(seed)
        self._ahead: TaskBatch | None = None
        self._used = 0
        self._before_ahead: Mapping[str, Any] = {}

    @property
    def parameters(self) -> WorkloadParameters:
        """The laws that the next task follows."""
        return self._parameters

    @property
    def next_task_id(self) -> int:
        """The id that the next task will have."""
        waiting = 0 if self._ahead is None else len(self._ahead) - self._used
        return self._first_id + self._drawn - waiting

    def next_chunk(self, count: int) -> TaskBatch:
        """Return the next `count` tasks, duration factors included."""
        self._settle()
        return self._draw(count)

    def next_task(self) -> Task:
        """Return the next task as a strategy may see it (its duration factor is only in chunks)."""
        ahead = self._look_ahead()
        self._used += 1
        return ahead.task(self._used - 1)

    def _look_ahead(self) -> TaskBatch:
        """The tasks drawn ahead, at least one of them not handed out yet."""
        if self._ahead is None or self._used == len(self._ahead):
            self._before_ahead = self._state()
            self._ahead, self._used = self._draw(_AHEAD), 0
        return self._ahead

    def next_task_and_factor(self) -> tuple[Task, float]:
        """Return the next task, and beside it the duration factor, which no strategy may see."""
        task = self.next_task()
        duration_factor = 1.0 if self._ahead is None else float(self._ahead.duration_factor[self._used - 1])
        return task, duration_factor

    def next_stretch(self, most: int) -> TaskBatch:
        """Return the next tasks, noise included: `most` of them, or fewer where the tasks drawn ahead end."""
        ahead = self._look_ahead()
        begin = self._used
        self._used = min(begin + most, len(ahead))
        return ahead.take(slice(begin, self._used))

    def shift(self, parameters: WorkloadParameters) -> None:
        """Follow other laws from the next task on."""
        self._settle()
        self._parameters = parameters

    def capture(self) -> Mapping[str, Any]:
        """Return everything needed to continue exactly here, picklable."""
        self._settle()
        return self._state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where the state was captured."""
        self._parameters = state["parameters"]
        self._seed = state["seed"]
        self._first_id = state["first_task_id"]
        self._drawn = state["drawn"]
        self._clock_s = state["clock_s"]
        for name, generator in self._rng.items():
            if name in state["streams"]:  # a state from before there was this stream never drew from it
                generator.bit_generator.state = state["streams"][name]
        self._ahead = None

    def _state(self) -> Mapping[str, Any]:
        return {
            "parameters": self._parameters,
            "seed": self._seed,
            "first_task_id": self._first_id,
            "drawn": self._drawn,
            "clock_s": self._clock_s,
            "streams": {name: generator.bit_generator.state for name, generator in self._rng.items()},
        }

    def _settle(self) -> None:
        """Give back tasks that were drawn ahead and not handed out, by drawing only the others again."""
        if self._ahead is None:
            return
        used = self._used
        self.restore(self._before_ahead)
        if used:
            self._draw(used)

    def _draw(self, count: int) -> TaskBatch:
        law, rng, first = self._parameters, self._rng, self._drawn
        ids = np.arange(first, first + count) + self._first_id
        size = draws.sizes(rng, law, count)
        offsets, back = draws.parents(rng, law, first, count)
        arrival = draws.arrivals(rng, law, count, self._clock_s)
        kind = draws.kinds(rng, law, count)
        self._drawn += count
        if count:
            self._clock_s = float(arrival[-1])
        intensity = draws.intensities(rng, law, kind, self._seed)
        gpu_only, cpu_only = draws.runs_on(rng, law, count)
        return batch_of(
            task_id=ids,
            size=size,
            compute_intensity=intensity,
            memory_required=draws.memories(rng, law, size),
            arrival_time=arrival,
            parent_offsets=offsets,
            parent_ids=np.repeat(ids, np.diff(offsets)) - back,
            duration_factor=draws.factors(rng, law, count),
            kind=kind,
            kind_names=draws.kind_names(law),
            deadline=draws.deadlines(rng, law, size, intensity),
            divisible=~(gpu_only | cpu_only),
            gpus_required=np.where(cpu_only, 0, 1),
            gpu_only=gpu_only,
        )
