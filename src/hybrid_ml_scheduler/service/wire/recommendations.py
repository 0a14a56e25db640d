"""Messages about recommendations: what is asked, how far the search is, and what was found. All of it is modelled."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
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


NodeName = Annotated[str, Field(min_length=1, max_length=80)]
TargetText = Annotated[str, Field(min_length=1, max_length=120)]


class CandidateNode(Demand):
    """A node that could be rented or bought."""

    gpu_type: Annotated[str, Field(min_length=1, max_length=64)]
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)]
    name: NodeName | None = None
    price_usd_h: Annotated[float, Field(gt=0.0, le=1e9)] | None = None
    purchase: Annotated[float, Field(gt=0.0, le=1e12)] | None = Field(
        default=None, description="What it costs to buy it, for a budget such as `EUR 30000`."
    )


class RecommendationDemand(Demand):
    """A workload, nodes to choose from, a target to keep or a metric to be best in, and how long may be searched."""

    workload: Preset | None = Field(default=None, description="A preset; or `upload`.")
    upload: UploadId | None = None
    num_tasks: Annotated[int, Field(ge=10, le=100_000)] = Field(default=2000, description="Of a trace, the first ones.")
    arrival_rate: ArrivalRate | None = Field(default=None, description="Tasks a second; as in the workload else.")
    target_load: Annotated[float, Field(gt=0.0, le=100.0)] | None = Field(
        default=None,
        description="Arrivals are changed to this load of the GPUs of `reference_node`; otherwise they are the "
        "workload's own.",
    )
    reference_node: NodeName | None = Field(default=None, description="The node whose load `target_load` is.")
    nodes: Annotated[list[CandidateNode], Field(min_length=1, max_length=60)]
    target: TargetText | None = Field(
        default=None, description="What must hold, such as `p95_latency < 2 s` or `95 % within 10 s`; or `best`."
    )
    promise: TargetText | None = Field(default=None, description="The former name of `target`.")
    best: Annotated[str, Field(min_length=1, max_length=40)] | None = Field(
        default=None, description="A metric that should be as low as possible, such as `p95_latency`."
    )
    budget: Annotated[str, Field(min_length=1, max_length=40)] | None = Field(
        default=None, description="The most that a node may cost: `$10/h`, or `EUR 30000` to buy it."
    )
    current: NodeName | None = Field(default=None, description="The node that you have, to compare with.")
    knowledge: Level = Field(default=LEARNED, description="What policies know of durations.")
    policies: Annotated[list[StrategyName], Field(max_length=16)] = Field(
        default_factory=list, description="Registered strategies; the usual ones where none is named."
    )
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    seeds: Annotated[int, Field(ge=1, le=20)] = Field(default=3, description="At most so many runs of a pair.")

    @model_validator(mode="after")
    def _one_workload(self) -> RecommendationDemand:
        if (self.workload is None) == (self.upload is None):
            raise ValueError("either workload or upload must be given")
        if self.target_load is not None and self.arrival_rate is not None:
            raise ValueError("of target_load and arrival_rate only one can be given")
        if sum(one is not None for one in (self.target, self.promise, self.best)) != 1:
            raise ValueError("one of target (promise is its former name) and best must be given")
        return self

    @property
    def asked_target(self) -> str | None:
        """The target, under whichever name it was given."""
        return self.promise if self.target is None else self.target


class RecommendationTrial(Answer):
    """One policy on one node: the target's metric over seeds."""

    node: str
    policy: str
    price_usd_h: float
    price: float | None = Field(default=None, description="What the budget counts: rent an hour, or the purchase.")
    mean: float | None = Field(description="None: tasks fail on this node.")
    interval: tuple[float, float] | None
    peak: float | None = Field(default=None, description="The mean over the tenth of the tasks that come closest.")
    seeds: int
    verdict: Literal["kept", "broken", "open"]
    cannot_run: int = Field(default=0, description="Tasks that need more GPUs at once than the node has.")
    load: float | None = Field(default=None, description="Arrivals over what the node can sustain.")


class TargetView(Answer):
    """What must hold. Without a limit the least value was asked for; `within_s` is the time of a share of the tasks."""

    text: str
    metric: str
    limit: float | None
    within_s: float | None = None
    head: str = ""
    unit: str = "s"


class TargetLoadView(Answer):
    """A load that was asked for, and of which node."""

    load: float
    reference_node: str


class RecommendationRecord(Answer):
    """What was found: modelled, not measured."""

    kind: Literal["modelled"] = "modelled"
    target: TargetView | None = None
    promise: TargetView = Field(description="The former name of `target`.")
    budget: str | None = None
    target_load: TargetLoadView | None = None
    knowledge: Level = Field(default=EXACT, description="What policies knew of durations.")
    tasks: int
    recommended: RecommendationTrial | None = Field(description="None: no node keeps the target.")
    next_cheaper: RecommendationTrial | None
    next_best: RecommendationTrial | None = None
    current: RecommendationTrial | None = Field(default=None, description="The best on the node that one has.")
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
