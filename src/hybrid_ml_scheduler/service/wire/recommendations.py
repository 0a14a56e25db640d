"""Messages about recommendations: what is asked, how far the search is, and what was found. All of it is modelled."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hybrid_ml_scheduler.core.validation import MOST_GPUS
from hybrid_ml_scheduler.service.wire.common import Answer, Demand, StrategyName
from hybrid_ml_scheduler.service.wire.simulation import ArrivalRate, Preset
from hybrid_ml_scheduler.service.wire.uploads import UploadId

__all__ = [
    "CandidateNode",
    "Recommendation",
    "RecommendationDemand",
    "RecommendationList",
    "RecommendationRecord",
    "RecommendationRemoved",
    "RecommendationTrial",
    "SearchProgress",
]


class CandidateNode(Demand):
    """A node that could be rented or bought."""

    gpu_type: Annotated[str, Field(min_length=1, max_length=64)]
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)]
    name: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    price_usd_h: Annotated[float, Field(gt=0.0, le=1e9)] | None = None


class RecommendationDemand(Demand):
    """A workload, nodes to choose from, a promise to keep, and how much may be spent on the search."""

    workload: Preset | None = Field(default=None, description="A preset; or `upload`.")
    upload: UploadId | None = None
    num_tasks: Annotated[int, Field(ge=10, le=100_000)] = Field(default=2000, description="Of a trace, the first ones.")
    arrival_rate: ArrivalRate | None = Field(default=None, description="Tasks a second; as in the workload else.")
    target_load: Annotated[float, Field(gt=0.0, le=100.0)] | None = Field(
        default=None, description="Arrivals of a trace are stretched to this load of the first node's GPUs."
    )
    nodes: Annotated[list[CandidateNode], Field(min_length=1, max_length=60)]
    promise: Annotated[str, Field(min_length=1, max_length=120)] = Field(
        description="What must hold, such as `p95_latency < 2 s`."
    )
    policies: Annotated[list[StrategyName], Field(max_length=16)] = Field(
        default_factory=list, description="Registered strategies; those without training where none is named."
    )
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    seeds: Annotated[int, Field(ge=1, le=20)] = Field(default=3, description="At most so many runs of a pair.")

    @model_validator(mode="after")
    def _one_workload(self) -> RecommendationDemand:
        if (self.workload is None) == (self.upload is None):
            raise ValueError("either workload or upload must be given")
        if self.target_load is not None and (self.upload is None or self.arrival_rate is not None):
            raise ValueError("target_load is for an upload, without arrival_rate")
        return self


class RecommendationTrial(Answer):
    """One policy on one node: the promised metric over seeds."""

    node: str
    policy: str
    price_usd_h: float
    mean: float | None = Field(description="None: tasks fail on this node.")
    interval: tuple[float, float] | None
    seeds: int
    verdict: Literal["kept", "broken", "open"]


class PromiseView(Answer):
    """What must hold."""

    text: str
    metric: str
    limit: float


class RecommendationRecord(Answer):
    """What was found: modelled, not measured."""

    kind: Literal["modelled"] = "modelled"
    promise: PromiseView
    tasks: int
    recommended: RecommendationTrial | None = Field(description="None: no node keeps the promise.")
    next_cheaper: RecommendationTrial | None
    nearest: RecommendationTrial
    trials: list[RecommendationTrial] = Field(description="Cheapest nodes first.")
    if_assumptions_differ: dict[str, str]
    sentences: list[str] = Field(description="The answer in words.")
    assumptions: list[str]


class SearchProgress(Answer):
    """How far a search is; the total is what is known by now."""

    label: str
    done: int
    total: int


class Recommendation(Answer):
    """A question, and its answer once it is found."""

    recommendation_id: int
    state: Literal["running", "done", "failed", "cancelled"]
    at: datetime
    workload: str = Field(description="The preset, or the name of the uploaded file.")
    demand: RecommendationDemand
    progress: SearchProgress | None
    problem: str | None = Field(description="Why there is no answer, in one sentence.")
    record: RecommendationRecord | None


class RecommendationList(Answer):
    """The recommendations that are kept, newest first, and what a search considers where nobody chooses."""

    recommendations: list[Recommendation]
    usual_policies: list[str] = Field(description="Policies that are considered where a demand names none.")


class RecommendationRemoved(Answer):
    """A recommendation that is gone."""

    recommendation_id: int
