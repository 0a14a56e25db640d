"""Hybrid ML: a forest on top of what is believed about durations, and the placement that serves the queues best.

The seconds of a task on each type of device are those that the estimator believes, corrected by a forest that learns
from finished tasks what the estimator misses. With them a rehearsal decides (see `rehearsal`): the way of placing
tasks that would have served the latest ones best is trusted with the next, be it the earliest finish or the learned
value of the queues. Training is driven from outside (`core.learners`); a new forest decides only where it is no worse
than the present one on the newest observations, which neither was grown on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, Outcome, RaceContext, Task
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.learning.time_forest import TimeForest
from hybrid_ml_scheduler.schedulers.forest.corrected_choice import Choice, corrected_choice
from hybrid_ml_scheduler.schedulers.forest.queue_value import VALUE_WEIGHTS
from hybrid_ml_scheduler.schedulers.forest.rehearsal import (
    LEADER,
    WAYS,
    fresh_rehearsal,
    mean_latencies,
    rehearse,
)
from hybrid_ml_scheduler.schedulers.forest.time_lessons import Expected
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import (
    LEAST_OBSERVATIONS,
    WINDOW,
    TrainsSeconds,
    seconds_words,
)
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid, task_terms

__all__ = ["HybridMl"]

VERSION = 2  # of the captured state
_WHOLE = np.array([0.0, 1.0])


class HybridMl(TrainsSeconds):
    """Believed seconds, a forest's correction, and the way of placing that has served best."""

    name = "hybrid_ml"

    def __init__(
        self,
        retrain_every: int | None = None,
        window: int = WINDOW,
        online: bool = True,
        guard: bool = True,
        step: float = DEFAULT_STEP,
    ) -> None:
        if (retrain_every is not None and retrain_every < 1) or window < 2 * LEAST_OBSERVATIONS:
            least = 2 * LEAST_OBSERVATIONS
            raise PlanError(f"hybrid_ml: retrain_every = {retrain_every} must be >= 1, window = {window} >= {least}.")
        self._own_interval, self._window = retrain_every, window
        self.online, self._guard = online, guard
        self.learning = "online" if online else "frozen"
        self._points = as_column(split_grid(step))
        self._slots = 1.0
        self._start(seed=0, num_gpus=1, interval=50)

    def prepare(self, context: RaceContext) -> None:
        """Start afresh: no forest, nothing rehearsed."""
        self._start(context.seed, context.num_gpus, context.retrain_interval)
        node = getattr(context.estimator, "node", None)
        self._slots = 1.0 if node is None else float(node.cpu.slots)

    def _start(self, seed: int, num_gpus: int, interval: int) -> None:
        self._start_training(seed, self._own_interval or interval, self._window)
        self._rehearsal = fresh_rehearsal(num_gpus)
        self._ahead_s = np.zeros(num_gpus + 1)

    @property
    def model(self) -> TimeForest | None:
        """The forest in use; none before the first one was found useful."""
        return self._forest

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Correct what is believed, and decide as the way would that leads the rehearsal."""
        believed = task_terms(task, cluster)
        seconds = np.empty(1 + len(believed[1]) + len(believed[2]))
        if not self.online:
            return Decision(*self._choice(task, cluster, believed, seconds, self._ahead_s.copy(), self._rehearsal)[:2])
        chosen = self._choice(task, cluster, believed, seconds, self._ahead_s, self._rehearsal)
        self._lessons.expect(task, Expected(cluster.now_s, believed, seconds, task.divisible, *chosen))
        return Decision(chosen[0], chosen[1])

    def preview(self, task: Task, cluster: ClusterView) -> Decision:
        """The decision that would be taken now; nothing is remembered."""
        believed = task_terms(task, cluster)
        seconds = np.empty(1 + len(believed[1]) + len(believed[2]))
        state = self._ahead_s.copy(), self._rehearsal.copy()
        return Decision(*self._choice(task, cluster, believed, seconds, *state)[:2])

    def _choice(
        self,
        task: Task,
        cluster: ClusterView,
        believed: Terms,
        seconds: FloatColumn,
        ahead: FloatColumn,
        rehearsal: FloatColumn,
    ) -> Choice:
        return corrected_choice(
            cluster.now_s,
            believed,
            task.size,
            task.compute_intensity,
            self._lessons.kind(task),
            self._walked,
            cluster.cpu_backlog_s,
            np.array(cluster.gpu_backlogs_s, np.float64),
            ahead,
            self._points if task.divisible else _WHOLE,
            _WHOLE,
            VALUE_WEIGHTS,
            rehearsal,
            seconds,
        )

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from a finished task how far what was believed of it was off, and rehearse what can be by now."""
        if self.online:
            expected = self._lessons.expectation(task)
            if expected is not None:
                self._ahead_s[0] -= expected.cpu_ahead_s
                self._ahead_s[1 + expected.gpu] -= expected.gpu_ahead_s
            for expected, ratios in self._lessons.observe(task, outcome):
                grid = self._points if expected.divisible else _WHOLE
                rehearse(
                    expected.now_s, expected.corrected, ratios, grid, _WHOLE, expected.unit_s, expected.future,
                    VALUE_WEIGHTS, self._rehearsal, self._slots,
                )  # fmt: skip

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Whose way is followed, the seconds believed and corrected, and what the forest made of the features."""
        chosen, believed = self.preview(task, cluster), task_terms(task, cluster)
        gpu, way = chosen.gpu or 0, WAYS[int(self._rehearsal[0, LEADER])]
        return {
            "reason": f"the way that served the latest tasks best: {way.replace('_', ' ')}",
            "gpu_fraction": chosen.gpu_fraction,
            "gpu": gpu,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, gpu),
            "way": way,
            "mean_latency_of_ways": mean_latencies(self._rehearsal),
            **seconds_words(believed, self._corrected(task, believed).tolist()),
            **self._forest_words(task, believed),
        }

    def capture(self) -> Mapping[str, Any]:
        """Everything: rehearsal, observations, forest and counters."""
        return {
            "version": VERSION,
            "rehearsal": self._rehearsal.tolist(),
            "ahead_s": self._ahead_s.tolist(),
            **self._training_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        rehearsal = np.array(state.get("rehearsal", ()), dtype=np.float64)
        if rehearsal.shape != self._rehearsal.shape or state.get("version") != VERSION:
            raise SchedulerError("hybrid_ml: the stored state is of another version or of another node.")
        self._rehearsal = rehearsal
        self._ahead_s = np.array(state["ahead_s"])
        self._restore_training(state)
