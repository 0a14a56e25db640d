"""Messages about learning: who adapted to a change, and what was believed against what happened."""

from __future__ import annotations

from pydantic import Field

from hybrid_ml_scheduler.live.frames import Shift
from hybrid_ml_scheduler.service.wire.common import Answer
from hybrid_ml_scheduler.service.wire.live import Snapshot

__all__ = ["Adaptation", "AdaptedStrategy", "Beliefs", "BelievedCell", "KeptPicture"]


class AdaptedStrategy(Answer):
    """What a change cost one strategy; seconds are means for a task above its fastest execution."""

    name: str
    is_behind: bool = Field(default=False, description="Whether compared tasks wait: then nothing is said of it.")
    before_s: float | None = Field(description="Before the change.")
    after_s: float | None = Field(description="Since the change.")
    worst_s: float | None = Field(description="In its worst step since the change.")
    settled_s: float | None = Field(description="Since it was settled; null where it is not, or it is too early.")
    recovery_tasks: int | None = Field(description="Tasks from the change until it was settled.")
    recovery_s: float | None = Field(description="Simulated seconds from the change until it was settled.")


class Adaptation(Answer):
    """A run around one change: how far each strategy's latency lay above the fastest execution of the same tasks."""

    run_id: int | None
    shift: Shift | None = Field(description="The change that is looked at; null where there was none.")
    shifts: list[Shift] = Field(description="All changes of the run, oldest first.")
    tasks_per_point: int
    last_task_id: int | None
    since_tasks: list[int] = Field(description="The first task of each step, counted from the change.")
    since_s: list[float] = Field(description="Simulated seconds from the change to the end of each step.")
    regret: dict[str, list[float | None]] = Field(description="Seconds above the fastest execution in each step.")
    strategies: list[AdaptedStrategy] = Field(description="The one that lost least since the change first.")


class BelievedCell(Answer):
    """A kind of work on a type of device; factors are times the nominal seconds, over its latest runs."""

    kind: str
    device: str
    runs: int = Field(description="Runs in this race; the latest fifty or so count.")
    believed: float = Field(description="What was believed when the tasks were decided.")
    happened: float
    error: float = Field(description="Mean relative distance of the two, task by task.")
    now: float = Field(description="What is believed now.")
    low: float = Field(description="The lower end of the 90 % interval of what is believed now.")
    high: float


class Beliefs(Answer):
    """What one strategy believed of durations against what happened."""

    scheduler: str
    level: str = Field(description="`exact`, `nominal` or `learned`; only the last one has cells.")
    devices: list[str] = Field(description="Types of device, the CPU first.")
    drifts: int = Field(description="How often a kind on a device was found to have changed.")
    cells: list[BelievedCell]


class KeptPicture(Snapshot):
    """The last that was shown of a run, with what its strategies believed then."""

    beliefs: dict[str, Beliefs] = Field(default_factory=dict)
