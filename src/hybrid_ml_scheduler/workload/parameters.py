"""What a generated workload is made from: laws, ranges, rate, dependencies and noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.core.validation import LEAST_AMOUNT, MOST_AMOUNT

__all__ = ["ARRIVAL_LAWS", "INTENSITY_LAWS", "MEMORY_LAWS", "SIZE_LAWS", "WorkloadParameters"]

SIZE_LAWS = ("pareto", "lognormal", "uniform")
INTENSITY_LAWS = ("bimodal", "uniform")
MEMORY_LAWS = ("with_size", "uniform")
ARRIVAL_LAWS = ("poisson", "batch")

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadParameters:
    """Laws and figures of a workload; the defaults are the preset `mixed`.

    With probability `dependency_probability` a task gets 1 to `max_parents` distinct parents, uniformly
    among the `parent_window` tasks before it. `noise_sigma` is the spread of the hidden duration factor.
    `kinds` sorts of work have Zipf popularity and a mean intensity each; 0 leaves the kind of tasks open.
    With `deadline_slack` a task is due after 0.5 to 1.5 times so many times its seconds on the reference CPU; 0: never.
    So large shares of the tasks run on GPUs only (`gpu_only`) or on the CPU only (`cpu_only`), and are not cut.
    `slo_s` is the promise to every other task: it is due so many seconds after its arrival; 0: nothing is promised.
    """

    size_law: str = "pareto"
    size_range: Range = (100.0, 5000.0)
    intensity_law: str = "bimodal"
    intensity_range: Range = (0.0, 1.0)
    memory_law: str = "with_size"
    memory_range: Range = (10.0, 500.0)
    arrival_law: str = "poisson"
    arrival_rate: float = 6.0
    num_tasks: int = 1000
    dependency_probability: float = 0.0
    max_parents: int = 3
    parent_window: int = 50
    noise_sigma: float = 0.0
    kinds: int = 0
    deadline_slack: float = 0.0
    slo_s: float = 0.0
    gpu_only: float = 0.0
    cpu_only: float = 0.0

    def __post_init__(self) -> None:
        for name, laws in _LAWS.items():
            _check_law(name, getattr(self, name), laws)
        for name, (least, most) in _RANGES.items():
            object.__setattr__(self, name, _checked_range(name, getattr(self, name), least, most))
        _check_number("arrival_rate", self.arrival_rate, least=1e-9, most=1e9)
        _check_number("dependency_probability", self.dependency_probability, most=1.0)
        _check_number("noise_sigma", self.noise_sigma, most=5.0)
        _check_number("deadline_slack", self.deadline_slack, most=1e6)
        _check_number("slo_s", self.slo_s, most=1e12)
        _check_number("gpu_only", self.gpu_only, most=1.0)
        _check_number("cpu_only", self.cpu_only, most=1.0)
        if self.gpu_only + self.cpu_only > 1.0:
            raise PlanError(
                f"workload.gpu_only = {self.gpu_only:g} and cpu_only = {self.cpu_only:g} are shares of the tasks: "
                "together they must not exceed 1."
            )
        for name, (fewest, most) in _COUNTS.items():
            _check_count(name, getattr(self, name), fewest, most)
        if self.max_parents > self.parent_window:
            raise PlanError(
                f"workload.max_parents = {self.max_parents} must not exceed parent_window = {self.parent_window}."
            )

    def with_values(self, values: Mapping[str, Any]) -> WorkloadParameters:
        """Return these parameters with some replaced by name; an unknown name is refused."""
        known = [item.name for item in fields(self)]
        for name in values:
            if name not in known:
                raise PlanError(f"workload.{name} is not a known key{nearest_hint(name, known)}")
        return replace(self, **values)

    def to_mapping(self) -> dict[str, Any]:
        """Return the parameters as plain values, ready for a plan or JSON; what is optional only where it is there."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        for name in (
            "kinds",
            "deadline_slack",
            "slo_s",
            "gpu_only",
            "cpu_only",
        ):  # so a plan from before there were any keeps its digest
            if not values[name]:
                del values[name]
        return values


_LAWS = {
    "size_law": SIZE_LAWS,
    "intensity_law": INTENSITY_LAWS,
    "memory_law": MEMORY_LAWS,
    "arrival_law": ARRIVAL_LAWS,
}
_RANGES = {
    "size_range": (LEAST_AMOUNT, MOST_AMOUNT),
    "intensity_range": (0.0, 1.0),
    "memory_range": (0.0, MOST_AMOUNT),
}
_COUNTS = {
    "num_tasks": (1, 100_000_000),
    "max_parents": (1, 64),
    "parent_window": (1, 1_000_000),
    "kinds": (0, 10_000),
}


def _check_law(name: str, value: object, laws: tuple[str, ...]) -> None:
    if value not in laws:
        raise PlanError(f"workload.{name} = {value!r} must be one of {', '.join(laws)}.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_number(name: str, value: object, *, least: float = 0.0, most: float) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
        raise PlanError(f"workload.{name} = {value!r} must be a finite number within [{least:g}, {most:g}].")


def _check_count(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise PlanError(f"workload.{name} = {value!r} must be a whole number within [{least}, {most}].")


def _shown(ends: Iterable[object]) -> str:
    return "[" + ", ".join(f"{end:g}" if isinstance(end, (int, float)) else repr(end) for end in ends) + "]"


def _checked_range(name: str, value: object, least: float, most: float) -> Range:
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(_is_number(end) for end in value):
        raise PlanError(f"workload.{name} = {value!r} must be two finite numbers [low, high].")
    low, high = float(value[0]), float(value[1])
    if low > high:
        raise PlanError(f"workload.{name} = {_shown(value)} must not have its low end above its high end.")
    if low < least or high > most:
        raise PlanError(f"workload.{name} = {_shown(value)} must lie within [{least:g}, {most:g}].")
    return low, high
