"""What a recommendation is asked for: a target such as "p95_latency < 2 s", a metric to be best in, a budget."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields

from hybrid_ml_scheduler.cluster import Summary
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.plans.metrics import METRICS

__all__ = ["LATE_SHARE", "PER_TASK", "Budget", "Target", "read_best", "read_budget", "read_target"]

LATE_SHARE = "late_share"
"""The metric of a target that is a share: the share of the tasks that are not done within the time."""

PER_TASK = frozenset(
    (
        LATE_SHARE,
        "mean_latency_s",
        "p50_latency_s",
        "p95_latency_s",
        "p99_latency_s",
        "p99_9_latency_s",
        "longest_latency_s",
        "mean_wait_s",
        "mean_slowdown",
        "longest_slowdown",
    )
)
"""Metrics that can be taken over some of the tasks alone, such as those of the busiest time."""

_LIMIT = re.compile(r"\s*([a-z0-9_]+)\s*(<=?)\s*([0-9.eE+-]+)\s*([a-z%$]*)\s*", re.ASCII)
_SHARE = re.compile(
    r"\s*([0-9.]+)\s*%\s*(?:of\s+(?:the\s+)?tasks\s+)?(?:are\s+)?(?:done\s+)?within\s+([0-9.eE+-]+)\s*([a-z]*)\s*",
    re.ASCII,
)
_SECONDS = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0, "h": 3600.0}
_PLAIN = {"": 1.0, "%": 0.01, "j": 1.0, "$": 1.0}
_OF_A_RUN = frozenset(one.name for one in fields(Summary))
_FORMS = "'p95_latency < 2 s' or '95 % within 2 s'"
_CURRENCY = r"\$|€|£|[A-Za-z]{3}"
_BUDGET = re.compile(
    rf"\s*({_CURRENCY})?\s*([0-9][0-9,]*(?:\.[0-9]+)?)\s*({_CURRENCY})?\s*(/\s*h|an\s+hour|per\s+hour)?\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One metric and the most it may be, in the metric's own unit; `text` is what was written.

    A limit of infinity asks for the least value. `within_s` is the time of a target that is a share.
    """

    metric: str
    limit: float
    text: str
    within_s: float | None = None

    @property
    def is_best(self) -> bool:
        """Whether the least value is asked for, rather than a value below a limit."""
        return math.isinf(self.limit)

    @property
    def head(self) -> str:
        """The metric with its unit, as it stands above a column."""
        return METRICS[self.metric].head if self.within_s is None else f"Late after {self.within_s:g} s (%)"

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return METRICS[self.metric].unit if self.within_s is None else "%"

    @property
    def has_peak(self) -> bool:
        """Whether the busiest time can be judged on its own."""
        return self.metric in PER_TASK


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a node may cost: an hour of rent in dollars, or its purchase in any currency."""

    amount: float
    currency: str
    is_hourly: bool

    def words(self, amount: float | None = None) -> str:
        """An amount of money as people read it; the budget's own by default."""
        return money(self.amount if amount is None else amount, self.currency, self.is_hourly)


def money(amount: float, currency: str = "$", is_hourly: bool = True) -> str:
    """A price as people read it: `$4.32 an hour`, `EUR 30,000`."""
    if is_hourly:
        return f"${amount:,.2f} an hour"
    sign = currency if len(currency) < 2 else f"{currency} "
    return f"{sign}{amount:,.0f}"


def read_target(text: str) -> Target:
    """Read a target; text of another form is refused in one sentence."""
    plain = " ".join(text.split())
    share = _SHARE.fullmatch(text.lower())
    if share is not None:
        return _share_target(plain, *share.groups())
    found = _LIMIT.fullmatch(text.lower())
    if found is None:
        raise PlanError(f"target = {text!r} must have the form {_FORMS}.")
    name, _, number, unit = found.groups()
    metric = _metric(name, f"target = {text!r}")
    return Target(metric=metric, limit=_limit(plain, metric, number, unit), text=plain)


def _share_target(text: str, share: str, number: str, unit: str) -> Target:
    try:
        asked = float(share) / 100.0
    except ValueError:
        asked = math.nan
    if not 0.0 < asked <= 1.0:
        raise PlanError(f"target = {text!r}: the share must be above 0 % and at most 100 %.")
    within = _limit(text, "p95_latency_s", number, unit or "s")
    return Target(metric=LATE_SHARE, limit=round(1.0 - asked, 12), text=text, within_s=within)


def _limit(text: str, metric: str, number: str, unit: str) -> float:
    units = _SECONDS if METRICS[metric].unit == "s" else _PLAIN
    if unit not in units:
        raise PlanError(
            f"target = {text!r}: {unit!r} is no unit of {metric}; use one of {', '.join(filter(None, units))}."
        )
    try:
        limit = float(number) * units[unit]
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0.0):
        raise PlanError(f"target = {text!r}: the limit must be a finite number above 0.")
    return limit


def read_best(name: str) -> Target:
    """The target "the least of this metric"."""
    metric = _metric(name.strip().lower(), f"best = {name!r}")
    return Target(metric=metric, limit=math.inf, text=f"the lowest {METRICS[metric].title.lower()}")


def _metric(name: str, where: str) -> str:
    """The metric of this name, with or without the unit at its end; only those that should be low."""
    low = {key for key, card in METRICS.items() if card.lower_is_better and key in _OF_A_RUN}
    for key in (name, f"{name}_s", f"{name}_j", f"{name}_usd"):
        if key in low:
            return key
    raise PlanError(f"{where}: there is no metric {name!r} that should be low{nearest_hint(name, sorted(low))}")


def read_budget(text: str) -> Budget:
    """Read a budget: dollars an hour (`$10/h`), or an amount to buy a node for (`EUR 30000`)."""
    found = _BUDGET.fullmatch(text)
    if found is None or (found[1] and found[3]):
        raise PlanError(f"budget = {text!r} must have the form '$10/h' (rent) or 'EUR 30000' (purchase of a node).")
    amount, currency, period = float(found[2].replace(",", "")), (found[1] or found[3] or "$").upper(), found[4]
    if not (math.isfinite(amount) and amount > 0.0):
        raise PlanError(f"budget = {text!r}: the amount must be a finite number above 0.")
    if period is not None and currency not in ("$", "USD"):
        raise PlanError(f"budget = {text!r}: rents are in dollars (price_usd_h), for example '$10/h'.")
    return Budget(amount=amount, currency="$" if period is not None else currency, is_hourly=period is not None)
