"""The physics section of a plan: a node from plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics.node import (
    CoExecution,
    CostModel,
    Cpu,
    Gpu,
    MemoryRule,
    Node,
    RentalOf,
    SpeedupLaw,
    checked_gpu_count,
)
from hybrid_ml_scheduler.plans.gpu_type_plan import own_types, typed_gpu, types_mapping
from hybrid_ml_scheduler.plans.interference_plan import slowdowns_from_mapping, slowdowns_mapping

__all__ = ["node_from_mapping", "node_to_mapping"]

_CHOICES: Mapping[str, type[IntEnum]] = {
    "speedup_law": SpeedupLaw,
    "co_execution": CoExecution,
    "memory_rule": MemoryRule,
    "cost_model": CostModel,
    "rental_of": RentalOf,
}
_NUMBERS = ("max_speedup", "paging_slowdown", "electricity_usd_kwh")
# `curves` only says which measurement a stored plan used; the numbers come from its hardware profile.
_KNOWN = (*_CHOICES, *_NUMBERS, "cpu", "gpu", "gpus", "curves", "types", "interference")
_DEFAULT_GPUS = 4
_NO_FLOATS = ("type", "slots")
_TYPED = ("type", "dense_speed", "stream_speed", "fp32_speed")


def node_from_mapping(
    section: Mapping[str, Any], num_gpus: Any, hardware: str | None = None, source: str = "plan"
) -> Node:
    """Build the node: `cpu`, `gpu` (for all GPUs) and `gpus` (one section each) over the defaults or a profile."""
    _check_keys(f"{source}: physics", section, _KNOWN)
    base = _measured(hardware)
    rules = {name: _choice(name, section[name], kind) for name, kind in _CHOICES.items() if name in section}
    numbers = {name: _number(f"physics.{name}", section[name]) for name in _NUMBERS if name in section}
    base = replace(base, types=own_types(section.get("types", {}), source))
    cpu = _device(Cpu, "cpu", section.get("cpu", {}), base, asdict(base.cpu), source)
    common = _device(Gpu, "gpu", section.get("gpu", {}), base, asdict(base.gpus[0]), source)
    return Node(
        cpu=cpu,
        gpus=_gpus(section.get("gpus"), common, num_gpus, base, hardware, source),
        curves=base.curves,
        types=base.types,
        interference=slowdowns_from_mapping(section.get("interference", {}), source),
        **{**_kept(base), **rules, **numbers},
    )


def _kept(base: Node) -> dict[str, Any]:
    return {name: getattr(base, name) for name in (*_CHOICES, *_NUMBERS)}


def _measured(hardware: str | None) -> Node:
    if hardware is None:
        return Node()
    from hybrid_ml_scheduler.hardware import node_from_profile

    node: Node = node_from_profile(Path(hardware))
    return node


def _gpus(listed: Any, common: Gpu, num_gpus: Any, base: Node, hardware: str | None, source: str) -> tuple[Gpu, ...]:
    if listed is None:
        count = num_gpus if num_gpus is not None else (base.num_gpus if hardware else _DEFAULT_GPUS)
        return (common,) * checked_gpu_count(count)
    if not isinstance(listed, (list, tuple)) or not listed:
        raise PlanError(f"{source}: physics.gpus must be a list of at least one section.")
    if num_gpus is not None and num_gpus != len(listed):
        raise PlanError(f"simulation.num_gpus = {num_gpus} does not fit the {len(listed)} entries of physics.gpus.")
    return tuple(_device(Gpu, f"gpus[{i}]", one, base, asdict(common), source) for i, one in enumerate(listed))


def _device(kind: type[Any], name: str, section: Any, base: Node, defaults: dict[str, Any], source: str) -> Any:
    if not isinstance(section, Mapping):
        raise PlanError(f"{source}: physics.{name} must be a section of keys and values.")
    _check_keys(f"{source}: physics.{name}", section, [item.name for item in fields(kind)])
    values: dict[str, Any] = {
        key: _number(f"physics.{name}.{key}", value) for key, value in section.items() if key not in _NO_FLOATS
    }
    if "slots" in section:
        values["slots"] = section["slots"]  # checked by the node: a whole number
    if "type" in section and section["type"] != defaults["type"]:
        values = {**typed_gpu(section["type"], base, f"physics.{name}.type"), **values}
    return kind(**{**defaults, **values})


def _check_keys(path: str, section: Mapping[str, Any], known: Any) -> None:
    for key in section:
        if key not in known:
            raise PlanError(f"{path} has no key {key!r}{nearest_hint(key, known)}")


def _number(path: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PlanError(f"{path} = {value!r} must be a number.")
    return float(value)


def _choice(name: str, value: Any, kind: type[IntEnum]) -> IntEnum:
    names = [member.name.lower() for member in kind]
    if value not in names:
        raise PlanError(f"physics.{name} = {value!r} must be one of {', '.join(names)}.")
    return kind[str(value).upper()]


def node_to_mapping(node: Node) -> dict[str, Any]:
    """The node as plain values; equal GPUs are written once."""
    found: dict[str, Any] = {name: getattr(node, name).name.lower() for name in _CHOICES}
    if node.rental_of == RentalOf.BUSY:
        del found["rental_of"]  # so plans read as they did before there was a choice
    found.update({name: getattr(node, name) for name in _NUMBERS})
    found["cpu"] = asdict(node.cpu)
    if node.cpu.slots == 1:
        del found["cpu"]["slots"]  # so plans read as they did before there were several
    if len(set(node.gpus)) == 1:
        found["gpu"] = _gpu_mapping(node.gpus[0])
    else:
        found["gpus"] = [_gpu_mapping(gpu) for gpu in node.gpus]
    if node.interference:
        found["interference"] = slowdowns_mapping(node.interference)
    if node.types:
        found["types"] = {one.name: types_mapping(one) for one in node.types}
    if node.curves is not None:
        # Which measurement it was; the profile file itself holds the numbers.
        found["curves"] = node.curves.source
    return found


def _gpu_mapping(gpu: Gpu) -> dict[str, Any]:
    """A GPU as plain values; what only GPUs of a named type have is left out of others."""
    return asdict(gpu) if gpu.type else {key: value for key, value in asdict(gpu).items() if key not in _TYPED}
