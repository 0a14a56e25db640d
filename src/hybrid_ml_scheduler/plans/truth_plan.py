"""The section `truth` of a plan: how much kinds of work differ from the formula, and when that changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics.truth import Drift, Truth

__all__ = ["TRUTH_KEYS", "drift_from_mapping", "truth_from_mapping", "usual_truth"]

TRUTH_KEYS = tuple(item.name for item in fields(Truth))
_DRIFT_KEYS = tuple(item.name for item in fields(Drift))
# Presets whose durations nobody is told, unless a plan says otherwise.
_USUAL: Mapping[str, Truth] = {"unknown": Truth(kind_spread=0.5)}


def usual_truth(workload: str) -> Truth:
    """The truth behind a workload for which a plan names none: the formula, for all presets but `unknown`."""
    return _USUAL.get(workload, Truth())


def truth_from_mapping(section: Mapping[str, Any], source: str) -> Truth:
    """Build and check the truth from plain values; every key must be known."""
    for key in section:
        if key not in TRUTH_KEYS:
            raise PlanError(f"{source}: truth has no key {key!r}{nearest_hint(key, TRUTH_KEYS)}")
    drifts = section.get("drift", ())
    if isinstance(drifts, Mapping) or not isinstance(drifts, (list, tuple)):
        drifts = [drifts]
    return Truth(
        kind_spread=section.get("kind_spread", 0.0),
        drift=tuple(drift_from_mapping(one, source) for one in drifts),
    )


def drift_from_mapping(values: Any, source: str) -> Drift:
    """Build and check one drift from plain values."""
    if not isinstance(values, Mapping) or "at_task" not in values:
        raise PlanError(f"{source}: each truth.drift needs keys and values, at least at_task.")
    for key in values:
        if key not in _DRIFT_KEYS:
            raise PlanError(f"{source}: truth.drift has no key {key!r}{nearest_hint(key, _DRIFT_KEYS)}")
    return Drift(**values)
