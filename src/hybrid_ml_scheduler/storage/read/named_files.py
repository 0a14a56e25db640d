"""The hardware profile that a stored plan names: kept by the digest of its content, found wherever uploads lie now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["as_kept", "as_placed"]

_PREFIX = "upload:"


def as_kept(plan: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """The plan as it is stored: a profile among the uploads is named by its digest, not by a place on this machine."""
    named = _profile(plan)
    if folder is None or named is None or Path(named).parent.parent != folder:
        return dict(plan)
    place = Path(named)
    return _with_profile(plan, f"{_PREFIX}{place.parent.name}/{place.name}")


def as_placed(plan: Mapping[str, Any], folder: Path | None) -> Mapping[str, Any]:
    """The plan as it is read: the profile where it lies now, also if an older version had stored where it lay then."""
    named = _profile(plan)
    if folder is None or named is None:
        return plan
    if named.startswith(_PREFIX):
        return _with_profile(plan, str(folder / named.removeprefix(_PREFIX)))
    place = Path(named)
    moved = folder / place.parent.name / place.name
    return _with_profile(plan, str(moved)) if not place.is_file() and moved.is_file() else plan


def _profile(plan: Mapping[str, Any]) -> str | None:
    simulation = plan.get("simulation")
    named = simulation.get("hardware") if isinstance(simulation, Mapping) else None
    return named if isinstance(named, str) else None


def _with_profile(plan: Mapping[str, Any], named: str) -> dict[str, Any]:
    return {**plan, "simulation": {**plan["simulation"], "hardware": named}}
