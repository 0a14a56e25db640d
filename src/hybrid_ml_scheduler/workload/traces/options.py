"""What a person may set about the reading of a trace, with defaults that are stated in the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint

__all__ = ["ANYWHERE", "TRACED", "TraceOptions"]

_MAY_BE_NONE = frozenset({"arrival_scale", "target_load", "gpus", "start_s", "gpu_type", "throughputs", "runs_on"})
_TEXTS = frozenset({"gpu_type", "throughputs", "runs_on"})
TRACED, ANYWHERE = "traced", "any"
_MAY_BE_ZERO = frozenset(
    {"speedup_sigma", "memory_low_mb", "mb_per_token", "memory_fraction", "start_s", "lifetime_sigma", "divisible"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Figures of the assumptions that turn a trace into tasks; None leaves the choice to the dialect.

    `time_scale` multiplies durations and arrival times alike (a change of unit). `arrival_scale` then multiplies
    arrival times only; or `target_load` chooses that factor so that the GPU times would keep `gpus` GPUs (those of the
    node unless given) busy for that share of the time. `speedup_sigma` spreads the guessed CPU-to-GPU ratios,
    `memory_low_mb` and `memory_high_mb` bound guessed memory. The next seven belong to single dialects (Azure LLM,
    openb, openb_requests). `gpu_type` names the type of GPU on which the file's GPU times were measured. Tasks of
    a trace are indivisible unless `divisible` is 1. With `runs_on` = `traced` a task of a deep-learning or LLM trace
    runs on GPUs only if it held some, else on the CPU only; with `any` it may run on both. `throughputs` is the file of
    Gavel's measured steps per second.
    """

    time_scale: float = 1.0
    arrival_scale: float | None = None
    target_load: float | None = None
    gpus: float | None = None
    speedup_sigma: float = 0.25
    memory_low_mb: float = 10.0
    memory_high_mb: float = 500.0
    prompt_tokens_per_s: float = 10_000.0
    output_tokens_per_s: float = 1_500.0
    mb_per_token: float = 0.131072
    memory_fraction: float = 0.1
    start_s: float | None = None
    lifetime_median_s: float = 600.0
    lifetime_sigma: float = 1.5
    gpu_type: str | None = None
    divisible: float = 0.0
    throughputs: str | None = None
    runs_on: str | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.name not in _TEXTS:
                _check(item.name, getattr(self, item.name))
        if self.arrival_scale is not None and self.target_load is not None:
            raise PlanError("Trace option arrival_scale cannot be given together with target_load.")
        if self.runs_on not in (None, TRACED, ANYWHERE):
            raise PlanError(f"Trace option runs_on = {self.runs_on!r} must be {TRACED} or {ANYWHERE}.")
        if self.memory_low_mb > self.memory_high_mb:
            raise PlanError(
                f"Trace option memory_low_mb = {self.memory_low_mb:g} must not exceed "
                f"memory_high_mb = {self.memory_high_mb:g}."
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any] | None) -> TraceOptions:
        """Read options from names and values; text is read as a number."""
        known = [item.name for item in fields(cls)]
        for name in values or {}:
            if name not in known:
                raise PlanError(f"There is no trace option '{name}'{nearest_hint(name, known)}")
        numbers: dict[str, Any] = {name: _value(name, value) for name, value in (values or {}).items()}
        return cls(**numbers)


def _value(name: str, value: object) -> float | str | None:
    return str(value) if name in _TEXTS and value is not None else _number(name, value)


def _number(name: str, value: object) -> float | None:
    if value is None and name in _MAY_BE_NONE:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    try:
        return float(str(value))
    except ValueError as error:
        raise PlanError(f"Trace option {name} = {value!r} must be a number.") from error


def _check(name: str, value: float | None) -> None:
    if value is None:
        return
    if not math.isfinite(value) or value < 0.0 or (value == 0.0 and name not in _MAY_BE_ZERO):
        demand = "of at least 0" if name in _MAY_BE_ZERO else "above 0"
        raise PlanError(f"Trace option {name} = {value!r} must be a finite number {demand}.")
