"""A promise such as "p95_latency < 2 s": which metric of a run must stay below which limit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.plans.metrics import METRICS

__all__ = ["Promise", "read_promise"]

_FORM = re.compile(r"\s*([a-z0-9_]+)\s*(<=?)\s*([0-9.eE+-]+)\s*([a-z%$]*)\s*", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0, "h": 3600.0}
_PLAIN = {"": 1.0, "%": 0.01, "j": 1.0, "$": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One metric and the most it may be, in the metric's own unit; `text` is what was written."""

    metric: str
    limit: float
    text: str

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return METRICS[self.metric].unit


def read_promise(text: str) -> Promise:
    """Read a promise; whatever it is not is refused in one sentence."""
    found = _FORM.fullmatch(text.lower())
    if found is None:
        raise PlanError(f"promise = {text!r} must have the form METRIC < LIMIT, such as 'p95_latency < 2 s'.")
    name, _, number, unit = found.groups()
    metric = _metric(name, text)
    units = _SECONDS if METRICS[metric].unit == "s" else _PLAIN
    if unit not in units:
        raise PlanError(
            f"promise = {text!r}: {unit!r} is no unit of {metric}; take one of {', '.join(filter(None, units))}."
        )
    try:
        limit = float(number) * units[unit]
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0.0):
        raise PlanError(f"promise = {text!r}: the limit must be a finite number above 0.")
    return Promise(metric=metric, limit=limit, text=" ".join(text.split()))


def _metric(name: str, text: str) -> str:
    """The metric of this name, with or without the unit at its end; only those can be promised that should be low."""
    low = {key for key, card in METRICS.items() if card.lower_is_better}
    for key in (name, f"{name}_s", f"{name}_j", f"{name}_usd"):
        if key in low:
            return key
    hint = nearest_hint(name, sorted(low))
    raise PlanError(f"promise = {text!r}: there is no metric {name!r} that can be promised{hint}")
