"""What is raced, and what the race hands on: rows for a store, events that a replay needs, notices for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core import FloatColumn, Outcome, Task, TaskBatch
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, EXACT, Backlogs, Level
from hybrid_ml_scheduler.core.validation import MOST_OPEN
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.workload import WorkloadParameters
from hybrid_ml_scheduler.workload.presets import preset_words

__all__ = [
    "MODEL_EVENTS",
    "Activation",
    "Checkpoint",
    "Course",
    "EventKind",
    "Label",
    "ModelOutcome",
    "Notice",
    "NoticeLevel",
    "RaceEvent",
    "RacedStretch",
    "Retraining",
    "Rows",
    "Trace",
    "activation_words",
    "model_key",
    "shift_words",
]

NoticeLevel = Literal["info", "success", "warning", "error"]
EventKind = Literal["shift", "task", "model", "recall", "stride"]
ModelOutcome = Literal["activated", "refused", "recalled"]


class Label(NamedTuple):
    """The oracle's answer for one task: the fastest split and its execution time."""

    task: Task
    gpu_fraction: float
    execution_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RacedStretch:
    """Tasks that were taken together, as columns: the oracle's labels and what each strategy did with them."""

    batch: TaskBatch
    label_fraction: FloatColumn
    label_s: FloatColumn
    runs: Mapping[str, RunColumns]

    def __len__(self) -> int:
        return len(self.batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceEvent:
    """Something from outside that changed the race before the task `boundary`; enough to do it again exactly."""

    sequence: int
    boundary: int
    kind: EventKind
    payload: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A retrained model that decides from the task `boundary` on, or was refused there.

    A guarded strategy has both errors on tasks that neither model was trained on: that of the new model
    (`held_out_error`) and that of the one which decided until then. A model that was called back counts as a version.
    """

    scheduler: str
    version: int
    boundary: int
    at: float
    samples: int
    error: float | None
    duration_s: float
    digest: str
    outcome: ModelOutcome = "activated"
    held_out_error: float | None = None
    present_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something a person should notice; `key` names it within its run, so that a replay does not say it twice."""

    key: str
    level: NoticeLevel
    message: str
    at: float
    event: str = "message"
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The whole state of the race before the task `boundary`."""

    boundary: int
    blob: bytes | bytearray
    at: float


@dataclass(slots=True, kw_only=True)
class Rows:
    """What happened since the last hand-over; stored together or not at all.

    Tasks taken one by one are in `tasks`, `outcomes` and `labels`; those taken together are in `stretches`.
    """

    run_id: int
    tasks: list[Task] = field(default_factory=list)
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    stretches: list[RacedStretch] = field(default_factory=list)
    activations: list[Activation] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    events: list[RaceEvent] = field(default_factory=list)
    checkpoint: Checkpoint | None = None

    @property
    def task_count(self) -> int:
        """How many tasks entered the race."""
        return len(self.tasks) + sum(map(len, self.stretches))

    def before(self, boundary: int) -> Rows:
        """Return what belongs to whole tasks, where the task `boundary` broke the race on its way in."""
        return replace(
            self,
            tasks=[task for task in self.tasks if task.task_id < boundary],
            outcomes=[one for one in self.outcomes if one[1].task_id < boundary],
            labels=[label for label in self.labels if label.task.task_id < boundary],
            events=[event for event in self.events if event.kind != "task" or event.boundary < boundary],
        )

    def __len__(self) -> int:
        facts = len(self.tasks) + len(self.outcomes) + len(self.labels)
        facts += sum(len(one) * (2 + len(one.runs)) for one in self.stretches)
        news = len(self.activations) + len(self.notices) + len(self.events)
        return facts + news + (self.checkpoint is not None)


def shift_words(facts: Mapping[str, Any], boundary: int) -> str:
    """What changed at a boundary, in one sentence: the workload, or what tasks really take."""
    if "drift" not in facts:
        return f"Workload: {preset_words(facts['preset'])}, {facts['arrival_rate']:g} tasks/s from task {boundary} on."
    drift = facts["drift"]
    where = "every device" if drift["device"] == "all" else f"the {drift['device'].upper()}"
    return (
        f"Drift: {drift['share']:.0%} of the kinds of work take {drift['factor']:g} times as long, or that much less, "
        f"on {where} from task {boundary} on."
    )


MODEL_EVENTS = {"model": "model_retrained", "refused": "model_refused", "recalled": "model_recalled"}
"""The first word of a notice's key, and its event."""

_WORDS = {"activated": "model", "refused": "refused", "recalled": "recalled"}


def model_key(outcome: str, scheduler: str, boundary: int) -> str:
    """What names the notice about a model within its run."""
    return f"{_WORDS.get(outcome, outcome)}-{scheduler}-{boundary}"


def activation_words(activation: Activation) -> tuple[NoticeLevel, str, str]:
    """The level, the event and the sentence of a notice."""
    event = MODEL_EVENTS[_WORDS[activation.outcome]]
    name, error = activation.scheduler, activation.error
    if activation.outcome == "recalled":
        return "info", event, f"{name} decides with its earlier model again, from task {activation.boundary} on."
    if activation.outcome == "refused":
        return "warning", event, f"{name} keeps its model: {_compared(activation)} on the latest tasks."
    measured = "" if error is None else f", error {error:.4f}"
    judged = "" if activation.held_out_error is None else f" On the latest tasks {_compared(activation)}."
    took = f"in {activation.duration_s:.2f} s"
    return "success", event, f"{name} retrained on {activation.samples} samples{measured}, {took}.{judged}"


def _compared(activation: Activation) -> str:
    if activation.held_out_error == activation.present_error:  # forests that found nothing correct nothing, both
        return f"both models have an error of {activation.held_out_error:.4f}: the new one predicts nothing else there"
    return (
        f"the retrained one has an error of {activation.held_out_error:.4f}, "
        f"the one before {activation.present_error:.4f}"
    )


Retraining = Literal["background", "synchronous"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The tasks of a file, and the upload that they come from; a race on it ends with its last task."""

    upload: str
    batch: TaskBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One race: the same course and the same events give the same rows, to the last digit."""

    seed: int
    node: Node
    preset: str
    workload: WorkloadParameters
    schedulers: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    retrain_interval: int = 50
    retraining: Retraining = "background"
    most_open: int = MOST_OPEN
    knowledge: Level = EXACT
    nominal_backlogs: Backlogs = ESTIMATED
    truth: Truth = field(default_factory=Truth)
    trace: Trace | None = None
