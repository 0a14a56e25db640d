"""From settings, requests and stored plans to what is raced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.live.records import Course, Retraining, Trace
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.gangs import check_widths
from hybrid_ml_scheduler.physics.gpu_types import gpu_type
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, rate_at_load
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping, node_to_mapping
from hybrid_ml_scheduler.plans.overload import device_loads
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice, plan_from_mapping
from hybrid_ml_scheduler.plans.upload_source import found_plan, source_name, upload_source
from hybrid_ml_scheduler.schedulers import absolute_spec, find
from hybrid_ml_scheduler.service.uploads.folder import KeptUpload, UploadFolder
from hybrid_ml_scheduler.service.uploads.reading import mean_rate
from hybrid_ml_scheduler.service.wire.simulation import BranchRequest, NewRunLoad, SimulationPatch, StartRequest
from hybrid_ml_scheduler.workload import WorkloadParameters, generate, preset

__all__ = [
    "RunDefaults",
    "branch_plan",
    "course_of",
    "laws_after",
    "live_options",
    "load_of",
    "plan_for",
    "stored_plan",
]

# The classic forest has a guard in a live race unless the plan says otherwise; `hybrid_ml` always has one.
_USUAL_OPTIONS: Mapping[str, Mapping[str, Any]] = {"hybrid_ml_share": {"guard": True}}
_USUAL_LOAD = 0.6  # of what the node could sustain in truth
_PROBED_TASKS = 5000
_OF_TRACES = ("target_load", "arrival_scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDefaults:
    """What the next new run is made of where nobody asks for something else; without a speed it keeps the pace."""

    plan: Plan
    retraining: Retraining
    speed: float | None


def plan_for(
    plan: Plan, request: StartRequest, uploads: UploadFolder, *, usual_node: Node | None = None, now: Plan | None = None
) -> Plan:
    """Return the plan of a new run that a request asks for.

    Where neither a rate nor a load is asked for, arrivals do not depend on the node that is asked for, so that runs of
    one seed on other nodes meet the same tasks: the rate of the run `now` stays for its workload, else it is the usual
    one for `usual_node` (the plan's own node, where it is left out).
    """
    workload = plan.workload
    if request.upload is not None:
        trace = _kept(uploads, request.upload, "trace")
        workload = WorkloadChoice(source=str(trace.source), dialect=trace.dialect, options=trace.options)
    elif request.workload is not None:
        preset(request.workload)
        workload = WorkloadChoice(source=request.workload)
    elif now is not None and now.workload.source == workload.source and workload.is_preset:
        rate = {name: value for name, value in now.workload.values.items() if name == "arrival_rate"}
        workload = replace(workload, values={**rate, **workload.values})
    slo_s = plan.workload.values.get("slo_s") if request.slo_s is None else request.slo_s
    if slo_s is not None:
        workload = replace(workload, values={**workload.values, "slo_s": slo_s})
    asked = _asked(plan, request, _arriving(workload, request), uploads)
    if request.target_load is not None and asked.workload.is_preset:
        return _at_load(asked, request.target_load, asked.node)
    if asked.hidden.is_the_formula or not asked.workload.is_preset or "arrival_rate" in asked.workload.values:
        return asked
    return _at_load(asked, _USUAL_LOAD, usual_node or plan.node)


def _kept(uploads: UploadFolder, upload_id: str, use: str) -> KeptUpload:
    found = uploads.get(upload_id)
    if found is None or found.use != use:
        raise PlanError(f"There is no uploaded {'trace' if use == 'trace' else 'hardware profile'} {upload_id}.")
    return found


def _arriving(workload: WorkloadChoice, request: StartRequest) -> WorkloadChoice:
    """The workload with its arrivals as asked for; what was asked of them before no longer counts."""
    asked = {name: getattr(request, name) for name in ("arrival_rate", *_OF_TRACES)}
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return workload
    if workload.is_preset and "arrival_scale" in given:
        raise PlanError(f"arrival_scale is for traces, and {workload.source} is a preset. Use target_load.")
    rate = {name: value for name, value in given.items() if name == "arrival_rate"}
    options = {name: value for name, value in workload.options.items() if name not in _OF_TRACES}
    stretched = {name: value for name, value in given.items() if name in _OF_TRACES and not workload.is_preset}
    kept = {name: value for name, value in workload.values.items() if name != "arrival_rate"}
    return replace(workload, values={**kept, **rate}, options={**options, **stretched})


def branch_plan(plan: Plan, request: BranchRequest, uploads: UploadFolder) -> Plan:
    """Return the plan of a run that leaves one with this plan: the same stream, with what was asked for."""
    fields = request.model_dump(exclude={"task_id", "speed"})
    return _asked(plan, StartRequest(new_run=True, **fields), plan.workload, uploads)


def _asked(plan: Plan, request: StartRequest, workload: WorkloadChoice, uploads: UploadFolder) -> Plan:
    schedulers = plan.schedulers if request.schedulers is None else tuple(request.schedulers)
    hardware: str | None = None
    node = _node(plan.node, request)
    if request.hardware is not None:
        hardware = str(_kept(uploads, request.hardware, "hardware").source.path(uploads.path.resolve()))
        node = node_from_mapping({}, request.num_gpus, hardware)
    elif request.gpu_type is not None:
        plan = replace(plan, hardware=None)
    return plan.with_values(
        seed=request.seed,
        workload=workload,
        knowledge=request.knowledge,
        hardware=hardware,
        node=node,
        schedulers=tuple(map(absolute_spec, schedulers)),  # the run is continued from whatever folder
        options={absolute_spec(spec): values for spec, values in plan.options.items()},
    )


def _at_load(plan: Plan, load: float, node: Node) -> Plan:
    """The plan with its tasks arriving at this share of what a node could sustain of them in truth."""
    workload = plan.workload
    laws = workload.parameters().with_values({"num_tasks": _PROBED_TASKS})
    rounded = float(f"{rate_at_load(laws, node, load, plan.seed, truth=plan.hidden):.3g}")
    return replace(plan, workload=replace(workload, values={**workload.values, "arrival_rate": rounded}))


def load_of(plan: Plan, uploads: UploadFolder) -> NewRunLoad:
    """Return what a run of this plan would put on its node, from a sample of its tasks in truth."""
    trace = _trace(plan, uploads)
    rate: float | None
    if trace is None:
        laws = plan.workload.parameters().with_values({"num_tasks": _PROBED_TASKS})
        batch, rate = generate(laws, plan.seed), laws.arrival_rate
    else:
        batch = trace.batch
        rate = mean_rate(batch)
    known = KnownTasks(batch=batch, node=plan.node, truth=plan.hidden, seed=plan.seed)
    loads = device_loads(batch, plan.node, known.true)
    return NewRunLoad(
        workload=source_name(plan.workload.source),
        num_gpus=plan.node.num_gpus,
        arrival_rate=rate,
        load=None if loads is None else loads.node,
        overload=None if loads is None else loads.words,
    )


def _node(node: Node, request: StartRequest) -> Node | None:
    """Return the node that a request asks for; None leaves it as it is."""
    if request.gpu_type is not None:
        gpu_type(request.gpu_type, node.types)  # refused in its own words
        section = {key: value for key, value in node_to_mapping(node).items() if key != "gpus"}
        typed = {**section, "gpu": {"type": request.gpu_type}}
        return node_from_mapping(typed, request.num_gpus or node.num_gpus, None, "gpu_type")
    return None if request.num_gpus is None else _resized(node, request.num_gpus)


def _resized(node: Node, num_gpus: int) -> Node:
    """Return a node with this many GPUs; further ones are like its first."""
    return replace(node, gpus=(*node.gpus, *[node.gpus[0]] * num_gpus)[:num_gpus])


def stored_plan(mapping: Mapping[str, Any]) -> Plan:
    """Return the plan of a stored run."""
    return plan_from_mapping(mapping, "stored plan")


def course_of(plan: Plan, retraining: Retraining, uploads: UploadFolder) -> Course:
    """Return what is raced; every strategy is looked up here, so that a wrong name is refused before anything runs."""
    for spec in plan.schedulers:
        find(spec)
    trace = _trace(plan, uploads)
    return Course(
        seed=plan.seed,
        node=plan.node,
        preset=source_name(plan.workload.source),
        workload=plan.workload.parameters() if trace is None else WorkloadParameters(),
        trace=trace,
        schedulers=plan.schedulers,
        options=live_options(plan),
        retrain_interval=plan.retrain_interval,
        most_open=plan.most_open,
        retraining=retraining,
        knowledge=plan.knowledge,
        nominal_backlogs=plan.nominal_backlogs,
        truth=plan.hidden,
    )


def _trace(plan: Plan, uploads: UploadFolder) -> Trace | None:
    """The tasks of a plan whose workload is an upload, read anew: its digest says that they are the same."""
    found = upload_source(plan.workload.source)
    if found is None:
        return None
    try:
        batch = found_plan(plan, uploads.path).tasks(plan.seed)
    except HmsError as problem:
        place = f"{found.path(uploads.path).parent}/"
        raise PlanError(str(problem).replace(place, "")) from problem
    check_widths(batch, plan.node.num_gpus)
    return Trace(upload=found.digest, batch=batch)


def live_options(plan: Plan) -> Mapping[str, Mapping[str, Any]]:
    """The options of the strategies, with those that are usual in a live race."""
    return {**plan.options, **{name: {**usual, **plan.options.get(name, {})} for name, usual in _USUAL_OPTIONS.items()}}


def laws_after(
    preset_now: str, laws: WorkloadParameters, patch: SimulationPatch, own: tuple[str, WorkloadParameters]
) -> tuple[str, WorkloadParameters]:
    """Return the preset and the laws after a patch; back to the run's `own` workload is back to its own rate."""
    if patch.workload == own[0]:
        preset_now, laws = own
    elif patch.workload is not None:
        hidden = {"kinds": laws.kinds, "noise_sigma": laws.noise_sigma}  # what is hidden of tasks stays hidden
        kept = {"slo_s": laws.slo_s, **(hidden if laws.kinds else {})}  # and what is promised, promised
        preset_now, laws = patch.workload, preset(patch.workload).with_values(kept)
    if patch.arrival_rate is not None:
        laws = laws.with_values({"arrival_rate": patch.arrival_rate})
    return preset_now, laws
