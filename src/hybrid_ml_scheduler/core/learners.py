"""The contract of a strategy that learns. Nobody asks for one by its name: each offers what it can.

`observe` (learns from outcomes) and `capture`/`restore` (survives a checkpoint) are in `core.protocols`. A strategy
whose model is trained apart from deciding offers `TrainsApart`, and whoever drives the race decides when and in which
thread: `train_if_due` before a decision, or a worker beside a live race. Everything else here is optional.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.reproducible import fingerprint_of

__all__ = [
    "Fingerprints",
    "Guards",
    "ModelFacts",
    "TellsModelFacts",
    "TrainsApart",
    "UpdatesAlong",
    "Verdict",
    "model_facts",
    "model_fingerprint",
    "take_over",
    "train_if_due",
]


@runtime_checkable
class TrainsApart(Protocol):
    """A strategy whose model is trained apart from its decisions, in four steps.

    `prepare` is told how many tasks should lie between two trainings (`RaceContext.retrain_interval`).
    """

    def training_due(self) -> bool:
        """Say whether enough tasks were seen since the last training began."""

    def training_data(self) -> Any:
        """Hand out what the next training needs, picklable; the training counts as begun."""

    def fit(self, data: Any) -> Any:
        """Train and return a model, picklable; touches nothing of the strategy, so that any thread may do it."""

    def activate(self, model: Any, data: Any) -> None:
        """Use the model from the next decision on."""


class ModelFacts(NamedTuple):
    """What is told about a trained model: how many samples it saw, and its error as the strategy measures it."""

    samples: int
    error: float | None = None


@runtime_checkable
class TellsModelFacts(Protocol):
    """A strategy that can say how a model was trained."""

    def model_facts(self, model: Any, data: Any) -> ModelFacts:
        """Return what people should know about a trained model."""


@runtime_checkable
class Fingerprints(Protocol):
    """A strategy that knows better than anybody when two of its models are equal."""

    def fingerprint(self, model: Any) -> str:
        """Return a short text that only an equal model has."""


class Verdict(NamedTuple):
    """The errors of a new model and of the present one on the latest tasks, which neither was trained on."""

    error: float
    present_error: float

    @property
    def accepted(self) -> bool:
        """Whether the new model is no worse; one whose error is not a number is."""
        return self.error <= self.present_error


@runtime_checkable
class Guards(Protocol):
    """A strategy that lets a new model decide only where it is no worse than the present one."""

    def judge(self, model: Any, data: Any) -> Verdict | None:
        """Compare a new model with the present one on held-out tasks; `None` where there are none to judge by."""


@runtime_checkable
class UpdatesAlong(Protocol):
    """A strategy that takes small steps as outcomes come in, and can be asked to take fewer."""

    @property
    def updates(self) -> int:
        """How many steps it has taken."""

    def limit_updates(self, per_task: float | None) -> None:
        """Take at most so many steps a task; `None` lifts the limit."""


def model_facts(strategy: TrainsApart, model: Any, data: Any) -> ModelFacts:
    """What a strategy tells about a model; of one that tells nothing, how many samples the data have."""
    if isinstance(strategy, TellsModelFacts):
        return strategy.model_facts(model, data)
    return ModelFacts(len(data) if hasattr(data, "__len__") else 0)


def model_fingerprint(strategy: TrainsApart, model: Any) -> str:
    """The strategy's own fingerprint of a model, or one of everything that the model holds."""
    return strategy.fingerprint(model) if isinstance(strategy, Fingerprints) else fingerprint_of(model)


def take_over(strategy: TrainsApart, model: Any, data: Any) -> Verdict | None:
    """Let a trained model decide from now on, unless the strategy's guard refuses it; returns what was measured."""
    verdict = strategy.judge(model, data) if isinstance(strategy, Guards) else None
    if verdict is None or verdict.accepted:
        strategy.activate(model, data)
    return verdict


def train_if_due(strategy: Scheduler) -> None:
    """Train a strategy that is due at once: for drivers that have no thread for it."""
    if isinstance(strategy, TrainsApart) and strategy.training_due():
        data = strategy.training_data()
        take_over(strategy, strategy.fit(data), data)
