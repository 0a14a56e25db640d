"""GPU types in a plan: `physics.types.NAME` adds or edits one, `type = "h200"` on a GPU takes its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES, GpuType, gpu_type
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.physics.type_scaling import roofline_speeds

__all__ = ["own_types", "typed_gpu", "types_mapping"]

_TEXTS = ("title", "profile")
_OPTIONAL = {"tensor_tflops": 0.0, "speed": 1.0}
_KEYS = tuple(item.name for item in fields(GpuType) if item.name not in ("name", "curves"))
_SECONDS_PER_HOUR = 3600.0


def own_types(section: Any, source: str) -> tuple[GpuType, ...]:
    """The types that a plan adds or edits; what it does not say of a known one is as in the catalogue."""
    if not isinstance(section, Mapping):
        raise PlanError(f"{source}: physics.types must be a section with one section for each type.")
    return tuple(_own_type(str(name), values, source) for name, values in section.items())


def _own_type(name: str, values: Any, source: str) -> GpuType:
    where = f"{source}: physics.types.{name}"
    if not isinstance(values, Mapping):
        raise PlanError(f"{where} must be a section of keys and values.")
    for key in values:
        if key not in _KEYS:
            raise PlanError(f"{where} has no key {key!r}{nearest_hint(key, _KEYS)}")
    given = {key: _value(f"{where}.{key}", key, value) for key, value in values.items()}
    if name in GPU_TYPES:
        made = replace(GPU_TYPES[name], **given)
    else:
        missing = [key for key in _KEYS if key not in (*given, *_TEXTS, *_OPTIONAL)]
        if missing:
            raise PlanError(f"{where} needs {missing[0]}, since {name!r} is not in the catalogue of GPU types.")
        made = GpuType(**{"name": name, "title": name, **given})
    return _with_curves(made) if made.profile else made


def _value(where: str, key: str, value: Any) -> Any:
    if key in _TEXTS:
        if not isinstance(value, str):
            raise PlanError(f"{where} = {value!r} must be text.")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PlanError(f"{where} = {value!r} must be a number.")
    return float(value)


def _with_curves(made: GpuType) -> GpuType:
    from hybrid_ml_scheduler.hardware import gpu_curves

    return replace(made, curves=gpu_curves(Path(made.profile)))


def types_mapping(made: GpuType) -> dict[str, Any]:
    """A type as plain values, in the form a plan has."""
    values = asdict(replace(made, curves=None))
    return {key: values[key] for key in _KEYS if values[key] != "" and values[key] != _OPTIONAL.get(key)}


def typed_gpu(name: Any, base: Node, where: str) -> dict[str, Any]:
    """The figures of a GPU of this type, relative to the GPU that the node's physics describes."""
    if not isinstance(name, str) or not name:
        raise PlanError(f"{where} = {name!r} must be the name of a GPU type; `hms nodes` lists them.")
    made = gpu_type(name, base.types)
    dense, plain, stream = roofline_speeds(base.described_type, made)
    return {
        "type": name,
        "memory_mb": made.memory_mb,
        "bandwidth_mb_s": made.bandwidth_mb_s,
        "power_w": made.power_w,
        "price_usd_s": made.price_usd_h / _SECONDS_PER_HOUR,
        "dense_speed": dense,
        "stream_speed": stream,
        "fp32_speed": plain,
    }
