"""Messages about stored runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hybrid_ml_scheduler.live.frames import BranchPoint
from hybrid_ml_scheduler.service.wire.common import Answer, Demand
from hybrid_ml_scheduler.service.wire.measured import MeasuredFacts
from hybrid_ml_scheduler.service.wire.statistics import Metric

__all__ = ["PairedRuns", "PairedValue", "RunCard", "RunComparison", "RunList", "RunPatch", "RunRemoved", "RunStanding"]

_LINE_ENDS = "\n\r\t"


def _plain(text: str) -> str:
    if any(letter < " " and letter not in _LINE_ENDS for letter in text):
        raise ValueError("control characters are not allowed")
    return text.strip()


def _one_line(text: str) -> str:
    if any(letter in text for letter in _LINE_ENDS):
        raise ValueError("a name has one line")
    return _plain(text)


class RunStanding(Answer):
    """What one strategy's stored results of a run add up to; means are over the run's compared tasks."""

    name: str
    tasks: int = Field(description="Stored results.")
    finished: int = Field(description="Tasks that it has finished.")
    waiting: int = Field(description="Tasks that it has not finished and that did not fail.")
    is_behind: bool = Field(description="Whether compared tasks wait: then it has no means and no place.")
    undecided: list[str] = Field(description="Figures without a place: waiting tasks could still change it.")
    failed: int
    oom_count: int
    avg_time: float | None
    avg_latency: float | None
    avg_wait: float | None
    avg_energy: float | None
    avg_cost: float | None
    avg_gpu_fraction: float | None
    longest_latency: float | None = Field(description="Of the task that fared worst.")
    makespan: float | None = Field(description="The last finish, in simulated seconds.")
    device_seconds: float
    source: Literal["simulated", "measured", "modelled"] = Field(
        description="Of a real run: whether it ran, or would have been so by the model."
    )
    makespan_gap: float | None = Field(description="Of a real run: makespan over the proven bound, less 1.")


class RunCard(Answer):
    """A stored run at a glance."""

    run_id: int
    name: str
    note: str
    is_present: bool = Field(description="Whether this is the run that the service races now.")
    has_picture: bool = Field(description="Whether the last that was shown of it is kept.")
    state: str
    at: datetime = Field(description="When it began.")
    seed: int
    workload: str = Field(description="The preset or file of its plan; shifts may have changed it since.")
    arrival_rate: float | None
    num_gpus: int | None
    schedulers: list[str]
    tasks: int
    compared_tasks: int = Field(
        description="Tasks from its beginning that every strategy has finished that is not behind: means are of these."
    )
    first_task_id: int | None
    last_task_id: int | None
    standings: list[RunStanding]
    branch: BranchPoint | None = Field(default=None, description="Where it left another run, if it did.")
    source: Literal["simulated", "measured"] = Field(description="Whether real tasks ran on real devices.")
    measured: MeasuredFacts | None = Field(description="Of a real run: the machine, the bound, the meters, alarms.")


class RunList(Answer):
    """Stored runs, newest first."""

    runs: list[RunCard]
    total: int = Field(description="How many runs are stored.")


class RunPatch(Demand):
    """A name or a note for a run; what is left out stays."""

    name: Annotated[str, Field(max_length=120), AfterValidator(_one_line)] | None = None
    note: Annotated[str, Field(max_length=4000), AfterValidator(_plain)] | None = None


class RunRemoved(Answer):
    """How much was removed with a run."""

    run_id: int
    tasks: int
    results: int


class PairedValue(Answer):
    """One strategy's mean in two runs over the same tasks, and the difference second - first with its interval."""

    scheduler: str
    metric: Metric
    stretches: int = Field(description="Stretches of 500 tasks that the interval is made from.")
    first: float
    second: float
    difference: float
    low: float | None = Field(description="Lower end of the 95 % interval; null with fewer than two stretches.")
    high: float | None
    verdict: Literal["first", "second", "none"] = Field(
        description="Which run is lower; `none`: no difference is shown."
    )


class PairedRuns(Answer):
    """A run against the first one."""

    run_id: int
    tasks: int = Field(
        description="How many tasks are the same in both: from the beginning on, or from where one left the other."
    )
    values: list[PairedValue]
    sentence: str


class RunComparison(Answer):
    """Runs side by side; where two met the same tasks, they are compared stretch by stretch."""

    runs: list[RunCard]
    paired: list[PairedRuns] = Field(description="Each further run against the first.")
