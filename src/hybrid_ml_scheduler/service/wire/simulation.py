"""Messages that steer the race and say where it stands."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.live.frames import BranchPoint, LearningState, TraceFacts
from hybrid_ml_scheduler.service.wire.common import Answer, Demand, StrategyChoice
from hybrid_ml_scheduler.service.wire.uploads import UploadId

__all__ = [
    "BranchRequest",
    "NewRunLoad",
    "Rebuilding",
    "SimulationPatch",
    "SimulationStatus",
    "StartRequest",
    "WorkloadState",
]

_SLOWEST = 0.001
_MOST_GPUS = 64  # of a race that is watched: every update names every device of every strategy


def _possible(speed: float) -> float:
    if 0.0 < speed < _SLOWEST:
        raise ValueError(f"a speed is 0 (as fast as possible) or at least {_SLOWEST}")
    return speed


Speed = Annotated[
    float,
    Field(ge=0.0, le=1e6, description="Tasks per wall second, at least 0.001; 0 = as fast as possible."),
    AfterValidator(_possible),
]
ArrivalRate = Annotated[float, Field(ge=1e-4, le=1e6, description="Tasks per second of simulated time.")]
Preset = Annotated[str, Field(min_length=1, max_length=64, description="The name of a workload preset.")]


class StartRequest(Demand):
    """How to start; an empty body continues the run that is there, or begins the first one."""

    new_run: bool = Field(default=False, description="Begin a new run instead of continuing the present one.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = Field(default=None, description="Only with `new_run`.")
    workload: Preset | None = None
    arrival_rate: ArrivalRate | None = None
    speed: Speed | None = None
    slo_s: Annotated[float, Field(ge=0.0, le=1e12)] | None = Field(
        default=None,
        description="Seconds after its arrival by which a task of the new run is promised to be done, where it has no "
        "deadline of its own; 0: nothing is promised. Only with `new_run`.",
    )
    schedulers: Annotated[list[StrategyChoice], Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The strategies of the new run, as `/api/strategies` names them; only with `new_run`."
    )
    knowledge: Level | None = Field(
        default=None,
        description="What strategies of the new run are told about durations; only with `new_run`.",
    )
    num_gpus: Annotated[int, Field(ge=1, le=_MOST_GPUS)] | None = Field(
        default=None, description="GPUs of the new run's node, further ones like its first; only with `new_run`."
    )
    gpu_type: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The type of all GPUs of the new run, as `/api/gpu_types` names it; only with it."
    )

    upload: UploadId | None = Field(
        default=None, description="The uploaded trace whose tasks are raced, in the place of `workload`."
    )
    target_load: Annotated[float, Field(gt=0.0, le=100.0)] | None = Field(
        default=None,
        description="Of a trace: arrivals are stretched to keep the GPUs busy for this share of time. Of a preset: "
        "tasks arrive at this share of what the new run's node could sustain. Left out, the node changes no arrival.",
    )
    arrival_scale: Annotated[float, Field(ge=1e-9, le=1e9)] | None = Field(
        default=None, description="Arrival times of the trace are multiplied by this."
    )
    hardware: UploadId | None = Field(
        default=None, description="The uploaded hardware profile of the new run's node; only with `new_run`."
    )

    @model_validator(mode="after")
    def _one_workload(self) -> StartRequest:
        if self.upload is not None and self.workload is not None:
            raise ValueError("workload and upload cannot be given together")
        if sum(one is not None for one in (self.arrival_rate, self.target_load, self.arrival_scale)) > 1:
            raise ValueError("of arrival_rate, target_load and arrival_scale only one can be given")
        if self.hardware is not None and self.gpu_type is not None:
            raise ValueError("hardware and gpu_type cannot be given together")
        return self


class NewRunLoad(Answer):
    """What a new run would put on its node; nothing is begun."""

    workload: str
    num_gpus: int
    arrival_rate: float | None = Field(description="Tasks per second of simulated time; null where all come at once.")
    load: float | None = Field(
        description="Seconds that the whole node needs for the work of one second, as cheaply as possible; null where "
        "all tasks come at once."
    )
    overload: str | None = Field(description="Which device gets more work than it can do; null where all keep up.")


class BranchRequest(Demand):
    """A run that leaves a stored one; what is left out is as it was there."""

    task_id: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = Field(
        default=None, description="The task of that run which the new one begins with; the one after its last if null."
    )
    schedulers: Annotated[list[StrategyChoice], Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The strategies, as `/api/strategies` names them."
    )
    knowledge: Level | None = Field(default=None, description="What strategies are told about durations.")
    num_gpus: Annotated[int, Field(ge=1, le=_MOST_GPUS)] | None = None
    gpu_type: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    speed: Speed | None = None


class Rebuilding(Answer):
    """A stored run that is being computed again up to the task where another one leaves it."""

    run_id: int
    tasks: int = Field(description="How many tasks come before the branch.")
    done: int


class DriftDemand(Demand):
    """A change of the hidden truth: a share of the kinds takes `factor` times as long from now on, or as much less."""

    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    factor: Annotated[float, Field(gt=1.0, le=1000.0)] = 2.0
    device: Literal["cpu", "gpu", "all"] = "gpu"


class SimulationPatch(Demand):
    """Changes while running; what is left out stays."""

    speed: Speed | None = None
    arrival_rate: ArrivalRate | None = None
    workload: Preset | None = None
    drift: DriftDemand | None = Field(default=None, description="Let what some kinds of work really take change now.")


class WorkloadState(Answer):
    """What the stream of tasks is made of at the moment."""

    preset: str = Field(description="The name of a preset, or of the file that is raced.")
    arrival_rate: float
    trace: TraceFacts | None = Field(default=None, description="The file whose tasks are raced; none with a preset.")


class SimulationStatus(Answer):
    """Where the race stands."""

    state: Literal["idle", "running", "paused", "stopped", "complete"] = Field(
        description="`complete`: every task of the run's trace has been placed, and no other will come."
    )
    is_running: bool = Field(description="Started and not stopped; also true while paused.")
    is_paused: bool
    run_id: int | None
    seed: int | None
    tasks_processed: int = Field(description="Tasks of this run.")
    tasks_total: int = Field(description="Tasks over all runs that the store holds ids for.")
    last_task_id: int | None
    simulated_time_s: float
    speed: float
    achieved_speed: float = Field(description="Tasks per wall second, measured over the last seconds.")
    workload: WorkloadState
    schedulers: list[str]
    knowledge: Level = Field(
        default=EXACT, description="What strategies are told about durations, unless their name asks for another level."
    )
    num_gpus: int
    retrain_interval: int
    retraining: Literal["background", "synchronous"]
    storage: Literal["ok", "waiting", "down", "refused"] = Field(
        description="`waiting`: the store slows the race; `refused`: it takes no more rows of this run, see `problem`."
    )
    backlog_rows: int = Field(description="Rows accepted and not yet stored; 0 after a stop: everything is stored.")
    problem: str | None = Field(description="Why the race cannot go on, in one sentence; a new run is the way out.")
    out_of_sight: str | None = Field(
        default=None,
        description="Why a service that follows does not hear the race; all else is then the last it heard.",
    )
    learning: dict[str, LearningState]
    branch: BranchPoint | None = Field(default=None, description="Where this run left another one, if it did.")
    rebuilding: Rebuilding | None = Field(default=None, description="While a branch is being prepared.")
