"""From flags and a plan file to a plan; flags win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT, Level, checked_backlogs, checked_level
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping, node_to_mapping
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice, load_plan
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE
from hybrid_ml_scheduler.workload import DEFAULT_PRESET, PRESETS, preset

__all__ = ["Defaults", "Flags", "column_mapping", "plan_of", "row_choice", "source_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line said; None or empty where it said nothing."""

    tasks: int | None = None
    seed: int | None = None
    seeds: int | None = None
    workload: str | None = None
    rate: float | None = None
    dependencies: float | None = None
    noise: float | None = None
    slo: float | None = None
    gpus: int | None = None
    schedulers: tuple[str, ...] = ()
    dialect: str | None = None
    options: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    gpu_type: str | None = None
    plan: Path | None = None
    hardware: Path | None = None
    knowledge: str | None = None
    nominal_backlogs: str | None = None
    spread: float | None = None
    interference: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a command runs where no flag says it and there is no plan file, whose defaults are those of `Plan`."""

    schedulers: tuple[str, ...] = DEFAULT_RACE
    workload: str = DEFAULT_PRESET
    tasks: int | None = None
    seeds: int = 1
    knowledge: Level = EXACT


PLAIN = Defaults()


def plan_of(flags: Flags, defaults: Defaults = PLAIN) -> Plan:
    """The plan file (or the command's default plan) with the flags laid over it."""
    base = _base(defaults) if flags.plan is None else load_plan(flags.plan)
    plan = base.with_values(seed=flags.seed, seeds=flags.seeds, workload=_workload(base.workload, flags))
    if flags.gpus is not None or flags.hardware is not None or flags.gpu_type is not None:
        plan = _with_node(plan, flags)
    if flags.interference is not None:
        from hybrid_ml_scheduler.execution.runs.calibration import read_calibration

        slowdowns = read_calibration(flags.interference).slowdowns()
        plan = replace(plan, node=replace(plan.node, interference=slowdowns))
    if flags.knowledge is not None:
        plan = replace(plan, knowledge=checked_level("--knowledge", flags.knowledge))
    if flags.nominal_backlogs is not None:
        backlogs = checked_backlogs("--nominal-backlogs", flags.nominal_backlogs)
        plan = replace(plan, nominal_backlogs=backlogs)
    if flags.spread is not None:
        plan = replace(plan, truth=replace(plan.hidden, kind_spread=flags.spread))
    names = flags.schedulers or base.schedulers or defaults.schedulers
    return replace(plan, schedulers=tuple(dict.fromkeys(names)))


def _base(defaults: Defaults) -> Plan:
    workload = WorkloadChoice(source=defaults.workload, num_tasks=defaults.tasks)
    return Plan(seeds=defaults.seeds, workload=workload, knowledge=defaults.knowledge)


def source_of(flags: Flags) -> dict[str, Any]:
    """The preset or file and the node of a study that has no plan: its fields `workload`, `file` and `node`."""
    from hybrid_ml_scheduler.plans.file_tasks import choice_text

    plan = plan_of(flags)
    if plan.workload.is_preset:
        for name in plan.workload.options:
            what = f"flag --{name}" if name in ("map", "where") else f"option {name!r}"
            raise PlanError(f"The {what} applies to files only, and {plan.workload.source} is a preset.")
        return {"workload": plan.workload.source, "node": plan.node}
    return {"file": choice_text(plan.workload), "node": plan.node}


def _with_node(plan: Plan, flags: Flags) -> Plan:
    section = node_to_mapping(plan.node)
    if flags.gpus is not None and "gpus" in section:
        raise PlanError(f"--gpus {flags.gpus} does not go with a plan that lists its GPUs one by one.")
    hardware = plan.hardware if flags.hardware is None else str(flags.hardware)
    if hardware is not None:
        section = {key: value for key, value in section.items() if key == "interference"}
    if flags.gpu_type is not None:
        section = _of_type(section, flags.gpu_type)
    count = flags.gpus if flags.gpus is not None or hardware is not None else plan.node.num_gpus
    return replace(plan, node=node_from_mapping(section, count, hardware), hardware=hardware)


def _of_type(section: dict[str, Any], name: str) -> dict[str, Any]:
    """The physics section with all GPUs of one type; figures of the default GPU give way to the type's."""
    if "gpus" in section:
        raise PlanError(f"--gpu-type {name} does not go with a plan that lists its GPUs one by one.")
    return {**section, "gpu": {"type": name}}


def _workload(base: WorkloadChoice, flags: Flags) -> WorkloadChoice:
    values: dict[str, Any] = dict(base.values)
    source = base.source
    if flags.workload is not None and flags.workload != base.source:
        source, values = flags.workload, {}
        if source not in PRESETS and not Path(source).exists() and not Path(source).suffix:
            preset(source)  # refuses with the nearest name
    given = {
        "arrival_rate": flags.rate,
        "dependency_probability": flags.dependencies,
        "noise_sigma": flags.noise,
        "slo_s": flags.slo,
    }
    values.update({key: value for key, value in given.items() if value is not None})
    return replace(
        base,
        source=source,
        values=values,
        num_tasks=base.num_tasks if flags.tasks is None else flags.tasks,
        dialect=base.dialect if flags.dialect is None else flags.dialect,
        options={**base.options, **_pairs(flags.options), **column_mapping(flags.columns), **row_choice(flags.where)},
    )


def column_mapping(words: tuple[str, ...]) -> Mapping[str, Any]:
    """`--map OURS=THEIRS` as the trace option `map`."""
    found: dict[str, str] = {}
    for word in words:
        ours, sign, theirs = word.partition("=")
        if not (ours and sign and theirs):
            raise PlanError(f"--map {word!r} must have the form OURS=THEIRS, such as duration=run_s.")
        if ours in found:
            raise PlanError(f"--map names {ours!r} more than once.")
        found[ours] = theirs
    return {"map": found} if found else {}


def row_choice(words: tuple[str, ...]) -> Mapping[str, Any]:
    """`--where COLUMN=VALUE` as the trace option `where`; several values of one column are alternatives."""
    found: dict[str, list[str]] = {}
    for word in words:
        column, sign, value = word.partition("=")
        if not (column and sign):
            raise PlanError(f"--where {word!r} must have the form COLUMN=VALUE, such as status=COMPLETED.")
        found.setdefault(column, []).append(value)
    return {"where": found} if found else {}


def _pairs(words: tuple[str, ...]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise PlanError(f"--option {word!r} must have the form KEY=VALUE.")
        try:
            found[key] = float(value)
        except ValueError:
            found[key] = value
    return found
