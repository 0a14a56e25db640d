"""What a strategy believes that learns durations on its own cluster: nominal seconds times what was seen so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster.belief_record import BeliefRecord
from hybrid_ml_scheduler.cluster.lessons import learn_parts, plain_belief
from hybrid_ml_scheduler.core.decisions import NO_GPU, Outcome, Parts
from hybrid_ml_scheduler.core.knowledge import LEARNED, Level
from hybrid_ml_scheduler.core.tasks import FloatColumn, Task
from hybrid_ml_scheduler.core.terms import BatchTerms, Formula
from hybrid_ml_scheduler.learning.duration_model import Belief, DurationModel, belief_sentence
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator, TaskSeconds, is_plain, rule_code
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.physics.truth import device_types

__all__ = ["LearnedEstimator", "Lesson"]

_MOST_PLAIN = 16_384  # tasks whose formula seconds are kept


class Lesson(NamedTuple):
    """How many times its nominal seconds each part of a task took and was believed to; 0 for one that there was not."""

    kind: str
    cpu_ratio: float
    gpu_ratio: float
    gpu_type: int
    cpu_believed: float = 0.0
    gpu_believed: float = 0.0


class LearnedEstimator(PhysicsEstimator):
    """The physics, corrected by a duration model that learns when tasks finish.

    Unless it `knows_scale`, the physics' seconds are a guess that is the same for all tasks of a file. Below `learned`
    it believes plain means of what has finished.
    """

    learns = True

    def __init__(
        self,
        node: Node,
        kinds: Sequence[str] = (),
        *,
        forgets: bool = True,
        knows_scale: bool = True,
        level: Level = LEARNED,
    ) -> None:
        super().__init__(node)
        self.types = device_types(node)
        if level != LEARNED:
            self.model = DurationModel.of_means(len(self.types), kinds=kinds)
        else:
            model_of = DurationModel.of_nominal if knows_scale else DurationModel.of_unscaled
            self.model = model_of(len(self.types), kinds=kinds, forgets=forgets)
        self._nominal = TaskSeconds(0.0, ())
        self._factors = np.ones(len(self.types))
        self._believed = np.empty((2, len(self.types)))
        self._lent: Task | None = None
        self._formula, self._formula_cells = self._formula_now(), self.model.cells
        self._parted: Task | None = None
        self._parts = Parts(0.0, 0.0, 0.0, False, False)
        self._apart = self._closest = math.inf
        self._plain: dict[int, tuple[Task, tuple[float, ...], float, int]] = {}
        self._kind_factors: dict[str, tuple[float, ...]] = {}
        self.record = BeliefRecord(len(self.types))

    def doubt(self, apart: float) -> None:
        """Believe from now on of no two types of device that they differ from what was told by more than e to `apart`.

        Each type learns from the tasks that it got. Where a few tasks take thousands of times as long as the others,
        the type that got them looks slow and the other one fast, though both did what could be expected of them.
        """
        self._apart, self._closest = apart, math.exp(apart) * (1.0 - 1e-9)
        self.look_again()

    def seconds(self, task: Task) -> TaskSeconds:
        """The believed durations of one task."""
        if task is not self._task:
            if task is self._lent:
                self._read(task)
            elif self._has_formula and is_plain(task):
                self._believe(task)
            else:
                self.remember(task, self._computed(task))
        return self._seconds

    def many_terms(self, tasks: Sequence[Task]) -> BatchTerms | None:
        """What `terms` says of each of these tasks, as columns; `None` if the formula does not serve all of them."""
        known = [self._plain.get(task.task_id) for task in tasks]
        for place, task in enumerate(tasks):
            one = known[place]
            if one is None or one[0] is not task:
                if not (self._has_formula and is_plain(task)):
                    return None
                seconds = self._computed(task)
                if len(self._plain) >= _MOST_PLAIN:
                    self._plain.clear()
                rule = rule_code(task, self.memory_rule)
                one = task, (seconds.cpu_s, *seconds.gpu_s), task.memory_required, rule
                known[place] = self._plain[task.task_id] = one
        found = [one for one in known if one is not None]
        for kind in {task.kind for task in tasks} - self._kind_factors.keys():
            told = self.model.factors(kind, np.empty(len(self.types)))
            self._kind_factors[kind] = tuple((self._drawn_together(told) if self._apart < math.inf else told).tolist())
        factors = np.array([self._kind_factors[task.kind] for task in tasks])
        seconds = np.array([one[1] for one in found]) * factors
        return BatchTerms(
            np.ascontiguousarray(seconds[:, 0]),
            np.ascontiguousarray(seconds[:, 1:]),
            np.empty((len(tasks), 0)),
            self.gpu_kind,
            np.array([one[2] for one in found]),
            self.gpu_memory_mb,
            np.array([one[3] for one in found], dtype=np.int64),
            self.serial,
        )

    def _believe(self, task: Task) -> None:
        """The same as `remember`, formula and belief in one compiled call: most tasks have no times of their own."""
        node, model, found = self.node, self.model, self._believed
        plain_belief(
            task.size,
            task.compute_intensity,
            task.memory_required,
            self._law,
            node.max_speedup,
            self._cpu_speed,
            self._kinds,
            model.place(task.kind),
            model.cells,
            model.types,
            model.shared,
            model.prior,
            self._factors,
            found,
        )
        self._read(task)

    def _read(self, task: Task) -> None:
        """Take over what compiled code has filled in for this task."""
        (cpu_s, *gpu_s), (believed_cpu_s, *believed_gpu_s) = self._believed.tolist()
        self._task, self._nominal, self._lent = task, TaskSeconds(cpu_s, tuple(gpu_s)), None
        if self._apart < math.inf and not self._is_close():
            self._seconds = self._times(self._factors)
        else:
            self._seconds = TaskSeconds(believed_cpu_s, tuple(believed_gpu_s))

    def lend_formula(self, task: Task) -> tuple[Formula, int] | None:
        """Formula and beliefs for compiled code, which fills in this task's; `None` if it has times of its own."""
        if not (self._has_formula and is_plain(task)) or task.gpu_only or self._apart < math.inf:
            return None
        model = self.model
        if self._formula_cells is not model.cells:
            self._formula, self._formula_cells = self._formula_now(), model.cells
        self._task, self._lent = None, task
        return self._formula, model.place(task.kind)

    def _formula_now(self) -> Formula:
        """The model's arrays are others once it has grown or was restored."""
        model = self.model
        return (
            self.gpu_kind, self.gpu_memory_mb, self.memory_rule, self.serial,
            self._law, self.node.max_speedup, self._cpu_speed, self._kinds,
            model.cells, model.types, model.shared, model.prior, self._factors, self._believed,
        )  # fmt: skip

    def remember(self, task: Task, seconds: TaskSeconds) -> None:
        """Accept nominal durations that were computed for a whole batch, and believe what was learned of them."""
        self._task, self._nominal, self._lent = task, seconds, None
        self._seconds = self._times(self.model.factors(task.kind, self._factors))

    def _times(self, factors: FloatColumn) -> TaskSeconds:
        """The nominal seconds of the task times these factors, drawn together where they are in doubt."""
        cpu, *gpus = (self._drawn_together(factors) if self._apart < math.inf else factors).tolist()
        told = self._nominal
        paged = tuple(map(mul, told.paged_s, gpus)) if told.paged_s else ()
        return TaskSeconds(told.cpu_s * cpu, tuple(map(mul, told.gpu_s, gpus)), paged)

    def _is_close(self) -> bool:
        """Whether the factors are clearly no further apart than is believed; it costs no logarithm."""
        factors = self._factors.tolist()
        return bool(max(factors) < self._closest * min(factors))

    def _drawn_together(self, factors: FloatColumn) -> FloatColumn:
        """The factors of all types around their common one, no further apart than is believed."""
        logs = np.log(factors)
        spread = float(np.ptp(logs))
        if spread <= self._apart:
            return factors
        common = logs.mean()
        drawn: FloatColumn = np.exp(common + (logs - common) * (self._apart / spread))
        return drawn

    def true_parts(self, task: Task, gpu_fraction: float, gpu: int) -> Parts:
        """The two parts of a split in nominal seconds, which the truth multiplies."""
        self.seconds(task)
        self._parted, self._parts = task, self.parts(task, gpu_fraction, gpu, self._nominal)
        return self._parts

    def lesson(self, task: Task, outcome: Outcome) -> Lesson:
        """What a placed task will have taught when it has finished."""
        parts = self._parts if task is self._parted else self.true_parts(task, outcome.gpu_fraction, outcome.gpu)
        gpu_type = 0 if outcome.gpu == NO_GPU else 1 + self._kind_list[outcome.gpu]
        return Lesson(
            task.kind,
            outcome.cpu_s / parts.cpu_s if parts.cpu_s > 0.0 else 0.0,
            outcome.gpu_s / parts.gpu_s if parts.gpu_s > 0.0 else 0.0,
            gpu_type,
            float(self._factors[0]),
            float(self._factors[gpu_type]),
        )

    def learn(self, lesson: Lesson) -> None:
        """A task has finished: believe what it teaches."""
        kind, cpu_ratio, gpu_ratio, gpu_type, cpu_believed, gpu_believed = lesson
        if cpu_ratio > 0.0 or gpu_ratio > 0.0:
            model, record = self.model, self.record
            place, row = model.row(kind), record.row(kind)
            model.drifts += learn_parts(
                place, gpu_type, cpu_ratio, gpu_ratio, cpu_believed, gpu_believed,
                model.cells, model.types, model.shared, model.prior, record.table[row],
            )  # fmt: skip
        self.look_again()

    def look_again(self) -> None:
        """Something was learned: what was believed of the latest task may no longer be."""
        self._task = self._lent = None
        self._kind_factors.clear()

    def beliefs(self, task: Task) -> dict[str, Belief]:
        """What is believed of a task on every type of device, by the type's name."""
        self.seconds(task)
        nominal = (self._nominal.cpu_s, *self._nominal.gpu_s)
        return {
            name: self.model.estimate(task.kind, place, seconds)
            for place, (name, seconds) in enumerate(zip(self.types, nominal, strict=True))
        }

    def belief_words(self, task: Task) -> dict[str, str]:
        """What is believed of a task on every type of device, in words."""
        return {
            name: belief_sentence(believed, "the CPU" if name == "cpu" else f"a {name.upper().replace('_', ' ')}")
            for name, believed in self.beliefs(task).items()
        }

    def capture(self) -> Mapping[str, Any]:
        """What was learned, as plain values."""
        return {**self.model.capture(), "record": self.record.capture()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self.model.restore(state)
        self.record.restore(state)
        self.look_again()
