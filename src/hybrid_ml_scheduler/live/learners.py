"""The strategies that learn: when one is due, what it is trained on, which model decides, how often agents update.

What they offer is in `core.learners`. One that updates as it goes may also have a `loss` and an `epsilon` to show.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.learners import (
    TrainsApart,
    UpdatesAlong,
    Verdict,
    model_facts,
    model_fingerprint,
    take_over,
)
from hybrid_ml_scheduler.live.frames import LearningState
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.records import Activation, Course, ModelOutcome
from hybrid_ml_scheduler.schedulers import strategy_errors_at

__all__ = ["Learners", "TrainedModel", "TrainingJob"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A model with what it was trained on and what is told about it."""

    model: Any
    data: Any
    samples: int
    error: float | None
    duration_s: float
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """One training: the data as they were before the task `requested_at`."""

    scheduler: str
    requested_at: int
    strategy: TrainsApart
    data: Any

    @property
    def key(self) -> tuple[str, int]:
        """What names the job within its run."""
        return self.scheduler, self.requested_at

    def run(self) -> TrainedModel:
        """Train; may run in any thread. Whatever the strategy's own code raises is an `HmsError` that says so."""
        begin = time.perf_counter()
        with strategy_errors_at(self.scheduler, "trained"):
            model = self.strategy.fit(self.data)
            seconds = time.perf_counter() - begin
            facts = model_facts(self.strategy, model, self.data)
            return TrainedModel(
                model=model,
                data=self.data,
                samples=facts.samples,
                error=facts.error,
                duration_s=seconds,
                digest=model_fingerprint(self.strategy, model),
            )


class Learners:
    """All learning strategies of one race."""

    def __init__(self, racers: Sequence[Racer], course: Course) -> None:
        self.is_synchronous = course.retraining == "synchronous"
        self._apart = {r.name: r.scheduler for r in racers if isinstance(r.scheduler, TrainsApart)}
        self._along = {r.name: r.scheduler for r in racers if isinstance(r.scheduler, UpdatesAlong)}
        self._interval = course.retrain_interval
        self._trained = dict.fromkeys(self._apart, 0)
        self._coalesced = dict.fromkeys(self._apart, 0)
        self._refused = dict.fromkeys(self._apart, 0)
        self._present: dict[str, TrainedModel] = {}
        self._earlier: dict[str, TrainedModel] = {}
        self._last: dict[str, Activation] = {}
        self._updates_before: dict[str, int] = {}
        self._requested_at: dict[str, int] = {}
        self.stride = 1
        self.pending: TrainingJob | None = None

    def after_task(self, boundary: int) -> list[Activation]:
        """Train whatever is due at once, if the plan says so; returns what took over."""
        return self.train_due(self._apart, boundary) if self.is_synchronous else []

    def train_due(self, names: Iterable[str], boundary: int) -> list[Activation]:
        """Train those of these strategies that are due, and let their models decide from here on."""
        done: list[Activation] = []
        for name in names:
            with strategy_errors_at(name, "trained"):
                if self._apart[name].training_due():
                    trained = self.job(name, boundary).run()
                    done.append(self.take_over(name, trained, boundary, time.time()))
        return done

    @property
    def trained_apart(self) -> frozenset[str]:
        """The strategies whose models are trained beside the race."""
        return frozenset(self._apart)

    def count_from_here(self) -> None:
        """Count trainings and updates anew; what was learned stays."""
        self._trained, self._coalesced, self._refused = (dict.fromkeys(self._apart, 0) for _ in range(3))
        self._last = {}
        self._updates_before = {name: strategy.updates for name, strategy in self._along.items()}

    def request(self, boundary: int) -> TrainingJob | None:
        """Return a job for the newest window if one is due, and remember it as pending.

        Of several that are due, the one that has waited longest is next: at full speed all are, again and again.
        """
        if self.is_synchronous:
            return None
        due = [name for name, strategy in self._apart.items() if strategy.training_due()]
        if not due:
            return None
        longest = min(due, key=lambda name: self._requested_at.get(name, -1))
        self.pending = self.job(longest, boundary)
        return self.pending

    def job(self, name: str, boundary: int) -> TrainingJob:
        """Take the data as they are now; a replay comes by here, too, and counts the same as merged into this one."""
        strategy = self._apart[name]
        if not self.is_synchronous:
            since = boundary - self._requested_at.get(name, boundary - self._interval)
            self._coalesced[name] += max(0, since // self._interval - 1)
        self._requested_at[name] = boundary
        return TrainingJob(scheduler=name, requested_at=boundary, strategy=strategy, data=strategy.training_data())

    def take_over(self, name: str, trained: TrainedModel, boundary: int, at: float) -> Activation:
        """Let a model decide from the task `boundary` on, unless the strategy's guard refuses it."""
        verdict = take_over(self._apart[name], trained.model, trained.data)
        if verdict is None:
            return self._noted(name, trained, boundary, at, "activated")
        if verdict.accepted:
            if name in self._present:
                self._earlier[name] = self._present[name]
            self._present[name] = trained
        else:
            self._refused[name] += 1
        outcome: ModelOutcome = "activated" if verdict.accepted else "refused"
        return self._noted(name, trained, boundary, at, outcome, verdict)

    def refuse_call_back(self, name: str) -> None:
        """Refuse with a sentence where there is no earlier model to call back."""
        if name not in self._apart:
            raise PlanError(f"{name} is no strategy of this race whose model is trained apart.")
        if name not in self._earlier:
            raise PlanError(
                f"{name} has no earlier model to call back: one is kept from the second model on that its guard let in."
            )

    def call_back(self, name: str, boundary: int, at: float) -> Activation:
        """Let the model decide again that decided before the present one; the present one is given up."""
        earlier = self._earlier.pop(name)
        self._apart[name].activate(earlier.model, earlier.data)
        self._present[name] = earlier
        return self._noted(name, earlier, boundary, at, "recalled")

    def _noted(
        self,
        name: str,
        trained: TrainedModel,
        boundary: int,
        at: float,
        outcome: ModelOutcome,
        verdict: Verdict | None = None,
    ) -> Activation:
        self._trained[name] += 1
        done = Activation(
            scheduler=name,
            version=self._trained[name],
            boundary=boundary,
            at=at,
            samples=trained.samples,
            error=trained.error,
            duration_s=trained.duration_s,
            digest=trained.digest,
            outcome=outcome,
            held_out_error=None if verdict is None else verdict.error,
            present_error=None if verdict is None else verdict.present_error,
        )
        if outcome != "refused":
            self._last[name] = done
        return done

    def set_stride(self, stride: int) -> None:
        """Let agents update once every `stride` tasks at most; a stride of 1 leaves them as they were asked for."""
        self.stride = stride
        for strategy in self._along.values():
            strategy.limit_updates(None if stride == 1 else 1.0 / stride)

    def states(self, tasks: int) -> dict[str, LearningState]:
        """Say how each learner is getting on."""
        forests = {name: self._forest(name, tasks) for name in self._apart}
        return forests | {name: self._agent(name, strategy, tasks) for name, strategy in self._along.items()}

    def _forest(self, name: str, tasks: int) -> LearningState:
        last, count = self._last.get(name), self._trained[name] - self._refused[name]
        return LearningState(
            kind="forest",
            updates=count,
            tasks_per_update=tasks / count if count else None,
            coalesced=self._coalesced[name],
            refused=self._refused[name],
            is_training=self.pending is not None and self.pending.scheduler == name,
            samples=None if last is None else last.samples,
            error=None if last is None else last.error,
            last_update_task=None if last is None else last.boundary,
        )

    def _agent(self, name: str, strategy: UpdatesAlong, tasks: int) -> LearningState:
        updates = strategy.updates - self._updates_before.get(name, 0)
        return LearningState(
            kind="agent",
            updates=updates,
            tasks_per_update=tasks / updates if updates else None,
            coalesced=0,
            is_training=False,
            loss=_finite(getattr(strategy, "loss", None)),
            epsilon=_finite(getattr(strategy, "epsilon", None)),
        )

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable; a running job is kept as its data."""
        pending = self.pending
        return {
            "stride": self.stride,
            "trained": dict(self._trained),
            "coalesced": dict(self._coalesced),
            "refused": dict(self._refused),
            "models": (dict(self._present), dict(self._earlier)),
            "last": dict(self._last),
            "requested_at": dict(self._requested_at),
            "updates_before": dict(self._updates_before),
            "pending": None if pending is None else (pending.scheduler, pending.requested_at, pending.data),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._trained, self._coalesced = dict(state["trained"]), dict(state["coalesced"])
        self._last, self._requested_at = dict(state["last"]), dict(state["requested_at"])
        self._refused = dict(state["refused"])
        self._updates_before = dict(state["updates_before"])
        self._present, self._earlier = map(dict, state["models"])
        self.set_stride(state["stride"])
        self.pending = None
        if state["pending"] is not None:
            name, requested_at, data = state["pending"]
            strategy = self._apart[name]
            self.pending = TrainingJob(scheduler=name, requested_at=requested_at, strategy=strategy, data=data)


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and np.isfinite(value) else None
