"""From settings, requests and stored plans to what is raced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hybrid_ml_scheduler.live.course import Course, Retraining
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice, plan_from_mapping
from hybrid_ml_scheduler.schedulers import find, located
from hybrid_ml_scheduler.service.wire.simulation import SimulationPatch, StartRequest
from hybrid_ml_scheduler.workload import WorkloadParameters, preset

__all__ = ["RunDefaults", "course_of", "plan_for", "shifted", "stored_plan"]

# The live race tells every strategy the exact durations, so there is nothing about them to learn yet: where a plan does
# not say otherwise, Hybrid ML shows the classic forest there, whose trees, features and retrainings can be looked at.
_LIVE_OPTIONS: Mapping[str, Mapping[str, Any]] = {"hybrid_ml": {"mode": "share", "guard": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDefaults:
    """What the next new run is made of where nobody asks for something else; without a speed it keeps the pace."""

    plan: Plan
    retraining: Retraining
    speed: float | None


def plan_for(plan: Plan, request: StartRequest) -> Plan:
    """Return the plan of a new run that a request asks for."""
    workload = plan.workload
    if request.workload is not None:
        preset(request.workload)
        workload = WorkloadChoice(source=request.workload)
    if request.arrival_rate is not None:
        workload = replace(workload, values={**workload.values, "arrival_rate": request.arrival_rate})
    schedulers = plan.schedulers if request.schedulers is None else tuple(request.schedulers)
    return plan.with_values(
        seed=request.seed,
        workload=workload,
        node=None if request.num_gpus is None else _resized(plan.node, request.num_gpus),
        schedulers=tuple(map(located, schedulers)),  # the run is continued from whatever folder
        options={located(spec): values for spec, values in plan.options.items()},
    )


def _resized(node: Node, num_gpus: int) -> Node:
    """Return a node with this many GPUs; further ones are like its first."""
    return replace(node, gpus=(*node.gpus, *[node.gpus[0]] * num_gpus)[:num_gpus])


def stored_plan(mapping: Mapping[str, Any]) -> Plan:
    """Return the plan of a stored run."""
    return plan_from_mapping(mapping, "stored plan")


def course_of(plan: Plan, retraining: Retraining) -> Course:
    """Return what is raced; every strategy is looked up here, so that a wrong name is refused before anything runs."""
    for spec in plan.schedulers:
        find(spec)
    return Course(
        seed=plan.seed,
        node=plan.node,
        preset=plan.workload.source,
        workload=plan.workload.parameters(),
        schedulers=plan.schedulers,
        options={
            **plan.options,
            **{name: {**live, **plan.options.get(name, {})} for name, live in _LIVE_OPTIONS.items()},
        },
        retrain_interval=plan.retrain_interval,
        retraining=retraining,
        knowledge=plan.knowledge,
        truth=plan.hidden,
    )


def shifted(preset_now: str, laws: WorkloadParameters, patch: SimulationPatch) -> tuple[str, WorkloadParameters]:
    """Return the preset and the laws after a patch."""
    if patch.workload is not None:
        kept = {"kinds": laws.kinds, "noise_sigma": laws.noise_sigma}  # what is hidden of tasks stays hidden
        preset_now, laws = patch.workload, preset(patch.workload).with_values(kept if laws.kinds else {})
    if patch.arrival_rate is not None:
        laws = laws.with_values({"arrival_rate": patch.arrival_rate})
    return preset_now, laws
