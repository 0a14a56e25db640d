"""The hidden truth of a live race: what a task really takes, and what each racer is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.physics import Node, TaskSeconds
from hybrid_ml_scheduler.physics.durations import gpu_kinds
from hybrid_ml_scheduler.physics.estimator import TruthFactor
from hybrid_ml_scheduler.physics.truth import Drift, HiddenFactors, Truth, device_types

__all__ = ["HiddenTruth", "TrueTask"]

_CPU_TIME, _GPU_TIME, _GPU_TIMES = map(Task._fields.index, ("cpu_time", "gpu_time", "gpu_times"))


class TrueTask(NamedTuple):
    """A task's nominal and true seconds, and how many times the nominal ones it takes, noise included."""

    nominal: TaskSeconds
    true: TaskSeconds
    duration_factor: float
    factors: TruthFactor

    def facts_for(self, level: Level) -> tuple[TruthFactor, TaskSeconds]:
        """What a racer of this level meets: a factor, and the seconds that it multiplies."""
        return (self.duration_factor, self.true) if level == EXACT else (self.factors, self.nominal)


class HiddenTruth:
    """The factors of one race; until something is hidden, tasks take what the formula says."""

    def __init__(self, truth: Truth, seed: int, node: Node) -> None:
        self._factors = HiddenFactors(truth, seed, device_types(node))
        self._speeds = [node.gpus[index].speed for index in gpu_kinds(node)[0]]
        self._cpu_speed = node.cpu.speed
        self.hides = not truth.is_the_formula

    def of(self, task: Task, nominal: TaskSeconds, duration_factor: float) -> TrueTask:
        """The truth about a task."""
        if not self.hides:
            return TrueTask(nominal, nominal, duration_factor, duration_factor)
        cpu, *gpus = self._factors.row(task.kind)
        true = TaskSeconds(
            nominal.cpu_s * cpu,
            tuple(seconds * factor for seconds, factor in zip(nominal.gpu_s, gpus, strict=True)),
            tuple(seconds * factor for seconds, factor in zip(nominal.paged_s, gpus, strict=False)),
        )
        factors = (cpu * duration_factor, *(factor * duration_factor for factor in gpus))
        return TrueTask(nominal, true, duration_factor, factors)

    def of_measured(self, task: Task, nominal: TaskSeconds, own: TaskSeconds, duration_factor: float) -> TrueTask:
        """The truth about a task with seconds of its own, of which something else was known before it ran."""
        drifted = self.of(task, own, duration_factor)
        true = drifted.true
        ratios = (true.cpu_s / nominal.cpu_s, *(a / b for a, b in zip(true.gpu_s, nominal.gpu_s, strict=True)))
        return TrueTask(nominal, true, duration_factor, tuple(ratio * duration_factor for ratio in ratios))

    def columns(self, batch: TaskBatch) -> FloatColumn:
        """The factors of several tasks without seconds of their own, one column a type of device, the CPU first."""
        table = np.array([self._factors.row(name) for name in batch.kind_names])
        found: FloatColumn = table[batch.kind]
        return found

    def proven(self, task: Task, seconds: TaskSeconds) -> Task:
        """The task as the bounds take it: with its true seconds as measured ones (of several types the least)."""
        if not self.hides:
            return task
        on_gpu = min(one * speed for one, speed in zip(seconds.gpu_s, self._speeds, strict=True))
        told: list[Any] = list(task)  # `_replace` takes four times as long, and every task of a race comes by
        told[_CPU_TIME], told[_GPU_TIME], told[_GPU_TIMES] = seconds.cpu_s * self._cpu_speed, on_gpu, ()
        return Task._make(told)

    def drift(self, drift: Drift, kinds: Sequence[str]) -> tuple[str, ...]:
        """Let some factors change for the tasks to come; returns the kinds that changed."""
        self.hides = True
        return self._factors.apply_drift(drift, kinds)

    def capture(self) -> Mapping[str, Any]:
        """What has drifted, and whether anything is hidden."""
        return {"hides": self.hides, **self._factors.capture()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state of the same course."""
        self.hides = state["hides"]
        self._factors.restore(state)
