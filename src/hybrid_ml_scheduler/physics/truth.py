"""The hidden truth: how far real seconds are from the formula, for each kind of work on each type of device.

Factors are log-normal with mean 1, drawn from the seed by the names of kind and device type, so they are the same for
every strategy and do not depend on who asks first. A drift multiplies or divides some of them from one task on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.physics.durations import Durations, gpu_kinds
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["CPU_TYPE", "DRIFTING_DEVICES", "Drift", "HiddenFactors", "Truth", "device_types", "scaled_durations"]

CPU_TYPE = "cpu"
DRIFTING_DEVICES = ("cpu", "gpu", "all")
MOST_SPREAD = 3.0
MOST_FACTOR = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """From the task at place `at_task` on, a share of the kinds takes `factor` times as long, or that much less.

    A coin says which, for each kind. `device` is `cpu`, `gpu` (every type of GPU) or `all`.
    """

    at_task: int
    share: float = 0.5
    factor: float = 2.0
    device: str = "gpu"

    def __post_init__(self) -> None:
        if not _is_number(self.at_task) or self.at_task != int(self.at_task) or self.at_task < 0:
            raise PlanError(f"truth.drift: at_task = {self.at_task!r} must be a whole number of at least 0.")
        if not _is_number(self.share) or not 0.0 < self.share <= 1.0:
            raise PlanError(f"truth.drift: share = {self.share!r} must be above 0 and at most 1.")
        if not _is_number(self.factor) or not 1.0 < self.factor <= MOST_FACTOR:
            raise PlanError(f"truth.drift: factor = {self.factor!r} must be above 1 and at most {MOST_FACTOR:g}.")
        if self.device not in DRIFTING_DEVICES:
            raise PlanError(f"truth.drift: device = {self.device!r} must be one of {', '.join(DRIFTING_DEVICES)}.")

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, in the form a plan file has."""
        return {"at_task": self.at_task, "share": self.share, "factor": self.factor, "device": self.device}


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """How much kinds differ from the formula, and when that changes."""

    kind_spread: float = 0.0
    drift: tuple[Drift, ...] = ()

    def __post_init__(self) -> None:
        if not _is_number(self.kind_spread) or not 0.0 <= self.kind_spread <= MOST_SPREAD:
            raise PlanError(f"truth.kind_spread = {self.kind_spread!r} must be a number within [0, {MOST_SPREAD:g}].")

    @property
    def is_the_formula(self) -> bool:
        """Whether nothing is hidden: kinds take what the formula says."""
        return self.kind_spread == 0.0 and not self.drift

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, in the form a plan file has."""
        return {"kind_spread": self.kind_spread, "drift": [one.to_mapping() for one in self.drift]}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def device_types(node: Node) -> tuple[str, ...]:
    """The types of device by name, the CPU first, then one for each column of the GPU durations."""
    representatives, _ = gpu_kinds(node)
    named = [str(getattr(node.gpus[index], "type", "") or "") for index in representatives]
    return (CPU_TYPE, *(name or (f"gpu_{place}" if place else "gpu") for place, name in enumerate(named)))


class HiddenFactors:
    """The factors of one run; `drifted` changes them for the tasks to come."""

    def __init__(self, truth: Truth, seed: int, types: Sequence[str]) -> None:
        self.truth, self.types = truth, tuple(types)
        self._seed = seed
        self._rows: dict[str, tuple[float, ...]] = {}
        self._drifts: list[tuple[str, dict[str, float]]] = []

    def row(self, kind: str) -> tuple[float, ...]:
        """The factors of a kind of work on every type of device, the CPU first."""
        found = self._rows.get(kind)
        if found is None:
            found = self._rows[kind] = tuple(self._factor(kind, name) for name in self.types)
        return found

    def _factor(self, kind: str, device: str) -> float:
        spread, factor = self.truth.kind_spread, 1.0
        if spread > 0.0:
            normal = float(stream(self._seed, "truth", kind, device).standard_normal())
            factor = math.exp(spread * normal - 0.5 * spread * spread)
        for where, changes in self._drifts:
            if where in (_class_of(device), "all"):
                factor *= changes.get(kind, 1.0)
        return factor

    def apply_drift(self, drift: Drift, kinds: Sequence[str]) -> tuple[str, ...]:
        """Let a drift happen; returns the kinds that changed (a share of those given, chosen by the seed)."""
        number = len(self._drifts)
        draws = {kind: stream(self._seed, "truth", "drift", number, kind).random(2).tolist() for kind in kinds}
        count = max(1, round(drift.share * len(draws))) if draws else 0
        changed = sorted(draws, key=lambda kind: draws[kind][0])[:count]
        changes = {kind: drift.factor if draws[kind][1] < 0.5 else 1.0 / drift.factor for kind in changed}
        self._drifts.append((drift.device, changes))
        self._rows.clear()
        return tuple(changed)

    def columns(self, batch: TaskBatch) -> FloatColumn:
        """The factors of every task (one column a type), the drifts of the truth included; measured times stay."""
        names = batch.kind_names
        known = [name for code, name in enumerate(names) if np.any(batch.kind == code)]
        bounds = sorted(self.truth.drift, key=lambda one: one.at_task)
        factors, begin = np.empty((len(batch), len(self.types))), 0
        for drift in (*bounds, None):
            end = len(batch) if drift is None else min(drift.at_task, len(batch))
            table = np.array([self.row(name) for name in names])
            factors[begin:end] = table[batch.kind[begin:end]]
            begin = max(begin, end)
            if drift is not None:
                self.apply_drift(drift, known)
        factors[batch.is_timed] = 1.0
        return factors

    def capture(self) -> Mapping[str, Any]:
        """What has drifted, as plain values."""
        return {"drifts": [(where, dict(changes)) for where, changes in self._drifts]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state of the same truth and seed."""
        self._drifts = [(where, dict(changes)) for where, changes in state["drifts"]]
        self._rows.clear()


def _class_of(device: str) -> str:
    return CPU_TYPE if device == CPU_TYPE else "gpu"


def scaled_durations(seconds: Durations, factors: FloatColumn) -> Durations:
    """Durations times one factor for each type of device (the CPU's first)."""
    on_gpus = factors[:, 1:]
    paged = seconds.paged_s * on_gpus if seconds.paged_s.size else seconds.paged_s
    return Durations(
        cpu_s=seconds.cpu_s * factors[:, 0],
        gpu_s=seconds.gpu_s * on_gpus,
        paged_s=paged,
        gpu_kind=seconds.gpu_kind,
    )
