"""Messages about real runs: what was measured on real devices, sent in pieces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hybrid_ml_scheduler.service.wire.common import Answer, Demand, StrategyName

__all__ = ["MeasuredEnd", "MeasuredFacts", "MeasuredResults", "MeasuredTasks", "NewMeasuredRun"]

_MOST_TASKS = 1_000_000
_CHUNK = 20_000
_PRINTED = r"^[^\x00-\x1f\x7f]*$"  # PostgreSQL keeps no text with a zero in it
Seconds = Annotated[float, Field(ge=0.0, le=1e9)]
Name = Annotated[str, Field(max_length=120, pattern=_PRINTED)]
Words = Annotated[str, Field(max_length=200, pattern=_PRINTED)]
Sentence = Annotated[str, Field(max_length=500, pattern=_PRINTED)]
Index = Annotated[int, Field(ge=0, lt=_MOST_TASKS)]


class MeasuredFacts(Answer):
    """What stands beside the rows of a real run."""

    machine: dict[str, str] = Field(description="CPU, cores and GPU in words.")
    devices: dict[str, int] = Field(description="Workers by device; `cpu` first. GPU i of the rows is place i + 1.")
    places: list[str] = Field(description="The CPU, then every further device: `cpu`, `numba_0`.")
    tasks: int = Field(description="How many tasks the run has, whether all are stored yet or not.")
    room: int | None = Field(
        default=None, description="The most tasks it can have, where it was not known at its beginning how many."
    )
    load: float
    strategies: list[str] = Field(description="Strategies that really ran.")
    modelled: list[str] = Field(description="What would have been: results whose seconds come from the model.")
    bound_s: float | None = Field(description="No placement can end sooner, by the measured times alone.")
    energy_j: dict[str, float] = Field(description="Joules of the whole machine by strategy, where meters can be read.")
    meters: str = Field(description="Which meters were read, in words.")
    alarms: list[str] = Field(description="Where the run leaves the range in which the model was validated.")
    heard_at: float | None = Field(
        default=None,
        description="When a run that is followed live was last heard of; null once it has ended.",
    )
    is_running: bool = Field(default=False, description="Whether it is under way: followed, and heard of lately.")


class NewMeasuredRun(Demand):
    """A real run that begins."""

    name: Name = ""
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    tasks: Annotated[int, Field(ge=1, le=_MOST_TASKS)]
    room: Annotated[int, Field(ge=1, le=_MOST_TASKS)] | None = Field(
        default=None, description="The most tasks that may come, where nobody knows yet how many; `tasks` then grows."
    )
    load: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    machine: Annotated[dict[Words, Words], Field(max_length=20)]
    devices: Annotated[dict[Words, Annotated[int, Field(ge=1, le=4096)]], Field(min_length=1, max_length=64)]
    bound_s: Seconds | None = None
    meters: Sentence = ""
    alarms: list[Sentence] = Field(default=[], max_length=50)
    is_running: bool = Field(default=False, description="Whether results come while it runs, and an end after them.")


class MeasuredEnd(Demand):
    """The end of a real run that was followed live: what is known only then."""

    bound_s: Seconds | None = None
    meters: Sentence = ""
    alarms: list[Sentence] = Field(default=[], max_length=50)


class MeasuredTasks(Demand):
    """Tasks of a real run from an index on, as columns of equal length."""

    first: Index
    kind: Annotated[list[Name], Field(min_length=1, max_length=_CHUNK)]
    size: list[Annotated[float, Field(ge=0.0)]]
    arrival_s: list[Seconds]

    @model_validator(mode="after")
    def _equal(self) -> MeasuredTasks:
        if not len(self.kind) == len(self.size) == len(self.arrival_s):
            raise ValueError("kind, size and arrival_s must have equal lengths")
        return self


class MeasuredResults(Demand):
    """What came of tasks with one strategy, as columns; a task without a finish has failed.

    The tasks are those from the index `first` on, or those with the indices in `rows`, in whatever order they ended.
    """

    scheduler: StrategyName
    source: Literal["measured", "modelled"] = "measured"
    first: Index = 0
    rows: Annotated[list[Index], Field(max_length=_CHUNK)] | None = None
    place: Annotated[list[Annotated[int, Field(ge=0, le=4096)]], Field(min_length=1, max_length=_CHUNK)]
    start_s: list[Seconds | None]
    finish_s: list[Seconds | None]
    energy_j: Annotated[float, Field(ge=0.0)] | None = Field(default=None, description="Joules of the whole run.")

    @model_validator(mode="after")
    def _equal(self) -> MeasuredResults:
        if not len(self.place) == len(self.start_s) == len(self.finish_s):
            raise ValueError("place, start_s and finish_s must have equal lengths")
        if self.rows is not None and len(set(self.rows)) != len(self.place):
            raise ValueError("rows must name every task once, and have the length of place")
        return self
