"""What strategies are told about a real task: seconds learned from measurements, in place of formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.execution.devices import CPU, Place
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.trials import Trial
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator, TaskSeconds
from hybrid_ml_scheduler.physics.node import Cpu, Gpu, MemoryRule, Node

__all__ = ["MeasuredEstimator"]

# Nothing is known of a kind yet: all devices look alike, and the queues decide.
UNKNOWN_S = 1e-3
# A device that never ran a kind is hoped to be this much faster than the best one that did, so that it is tried.
HOPE = 0.5
# No implementation: longer than anything, yet a number that can be multiplied by a share of 0.
NEVER_S = 1e9


class MeasuredEstimator(PhysicsEstimator):
    """An estimator whose seconds come from a model of durations; one column for each further device."""

    learns = True

    def __init__(self, places: Sequence[Place], durations: LearnedDurations) -> None:
        gpus = tuple(Gpu(memory_mb=place.memory_mb) for place in places[1:]) or (Gpu(),)
        super().__init__(Node(cpu=Cpu(slots=places[0].workers), gpus=gpus, memory_rule=MemoryRule.CPU))
        names = [place.device for place in places[1:]] or [""]
        self._devices = list(dict.fromkeys(names))
        self.gpu_kind = np.array([self._devices.index(name) for name in names], dtype=np.int64)
        self._kind_list = self.gpu_kind.tolist()
        self._durations = durations
        self._kind, self._available = "", frozenset({CPU})
        self._held: dict[int, frozenset[str]] = {}
        self._hopeful = True
        self.trials: dict[str, Trial] = {}

    def column(self, gpu: int) -> int:
        """Which of the columns of seconds belongs to a device."""
        return int(self._kind_list[gpu])

    def describe(self, kind: str, available: frozenset[str], hopeful: bool = True) -> None:
        """Say what the next task is and where it has an implementation.

        When it is `hopeful`, a device whose further try is due looks as if it had never been tried.
        """
        self._kind, self._available, self._hopeful, self._task = kind, available, hopeful, None

    def introduce(self, task: Task, available: frozenset[str]) -> None:
        """Say where a held task has an implementation: it may be asked about at any time until it is forgotten."""
        self._held[task.task_id] = available

    def forget(self, task_id: int) -> None:
        """A task is held no longer."""
        self._held.pop(task_id, None)

    def _computed(self, task: Task) -> TaskSeconds:
        believed = {}
        available = self._held.get(task.task_id)
        kind, available = (self._kind, self._available) if available is None else (task.kind, available)
        for device in (CPU, *self._devices):
            if device in available:
                found = self._durations.estimate(kind, device, task.size)
                believed[device] = None if found is None else found.seconds
        known = [seconds for seconds in believed.values() if seconds is not None]
        least = min(known, default=UNKNOWN_S / HOPE)
        unknown = HOPE * least
        self.trials = {}
        for device, value in believed.items() if self._hopeful else ():
            if value is not None and value > least:
                trial = self._durations.trials.due(kind, device, task.size)
                if trial is not None:
                    self.trials[device] = trial
                    believed[device] = unknown
        seconds = {device: unknown if value is None else value for device, value in believed.items()}
        return TaskSeconds(
            seconds.get(CPU, NEVER_S), tuple(seconds.get(device, NEVER_S) for device in self._devices), ()
        )
