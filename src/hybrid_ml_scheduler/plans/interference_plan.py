"""The section `physics.interference` of a plan: how much devices slow each other down, for all kinds or one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics.interference import EVERY_KIND, Slowdown

__all__ = ["slowdown_note", "slowdowns_from_mapping", "slowdowns_mapping"]

_FACTORS = ("cpu", "gpu", "within")


def slowdowns_from_mapping(section: Any, source: str = "plan") -> tuple[Slowdown, ...]:
    """Two or three numbers, and `kinds` with numbers of their own; a section of ones is the same as none."""
    path = f"{source}: physics.interference"
    common = _slowdown(EVERY_KIND, _factors(section, path, (*_FACTORS, "kinds")))
    kinds = section.get("kinds", {})
    if not isinstance(kinds, Mapping):
        raise PlanError(f"{path}.kinds must be a section of kinds.")
    found = [common]
    for kind, values in kinds.items():
        if kind == EVERY_KIND:
            raise PlanError(f"{path}.kinds needs the name of a kind.")
        own = dict(zip(_FACTORS, common.factors, strict=True)) | _factors(values, f"{path}.kinds.{kind}", _FACTORS)
        found.append(_slowdown(str(kind), own))
    return tuple(found) if any(one.factors != (1.0, 1.0, 1.0) for one in found) else ()


def _slowdown(kind: str, factors: Mapping[str, float]) -> Slowdown:
    return Slowdown(kind=kind, **{name: factors.get(name, 1.0) for name in _FACTORS})


def _factors(section: Any, path: str, known: Sequence[str]) -> dict[str, float]:
    if not isinstance(section, Mapping):
        raise PlanError(f"{path} must be a section of keys and values.")
    for key in section:
        if key not in known:
            raise PlanError(f"{path} has no key {key!r}{nearest_hint(key, known)}")
    found = {key: section[key] for key in _FACTORS if key in section}
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise PlanError(f"{path}.{key} = {value!r} must be a number.")
    return {key: float(value) for key, value in found.items()}


def slowdowns_mapping(slowdowns: Sequence[Slowdown]) -> dict[str, Any]:
    """The same as plain values, in the form a plan has."""
    found: dict[str, Any] = {}
    for one in slowdowns:
        values = dict(zip(_FACTORS, one.factors, strict=True))
        if one.kind == EVERY_KIND:
            found.update(values)
        else:
            found.setdefault("kinds", {})[one.kind] = values
    return found


def slowdown_note(slowdowns: Sequence[Slowdown]) -> str:
    """What is assumed, in a sentence."""
    common = next((one for one in slowdowns if one.kind == EVERY_KIND), Slowdown())
    own = len([one for one in slowdowns if one.kind != EVERY_KIND])
    kinds = f" ({own} {'kind has' if own == 1 else 'kinds have'} factors of their own)" if own else ""
    return (
        f"interference: seconds on the CPU grow {common.cpu:.3g} times while a GPU is busy, those on a GPU "
        f"{common.gpu:.3g} times while the CPU is{kinds}; strategies and bounds know seconds alone."
    )
