"""Which strategy is best, and by how much beside the best rule that does not learn: one answer for every output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL, Interval, bounded_interval
from hybrid_ml_scheduler.studies.statistics import Samples

__all__ = ["Standpoint", "headline", "judged_metric", "ratios_to_rule"]

_REFERENCE = "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """What decides whether a strategy may lead: how it learns, what it knows, and how many tasks it failed."""

    learning: str
    knowledge: str
    failed: float = 0.0


def judged_metric(batch: TaskBatch) -> str:
    """The metric that these tasks are about: makespan where all come at once, mean latency in a stream."""
    at_once = len(batch) > 1 and float(np.ptp(batch.arrival_time)) == 0.0
    return "makespan_s" if at_once else "mean_latency_s"


def headline(
    metric: str, samples: Samples, standpoints: Mapping[str, Standpoint], *, level: float = DEFAULT_LEVEL
) -> dict[str, Any] | None:
    """Who leads on a metric where lower is better, as plain values; None where no strategy has a value.

    The rival is the best rule; where a rule leads, it is the best strategy that learns. `lower_by` is the share by
    which the leader is below it, seed by seed. The oracle cannot lead, because nobody can run it. Where others estimate
    durations, neither can a strategy that knows them. A strategy that failed more tasks than another cannot lead.
    """
    ranked = _ranked(samples, standpoints)
    if not ranked:
        return None
    best, rules = ranked[0], _rules(ranked, standpoints)
    others = [name for name in ranked if name not in rules] if best in rules else rules
    rival = next(iter([*others, *ranked[1:]]), None)
    below = None if rival is None else _ratio(samples[best], samples[rival], level)
    is_known = below is not None and below.is_known
    ends = [1.0 - below.high, 1.0 - below.low] if below is not None and is_known else None
    return {
        "metric": metric,
        "best": best,
        "best_rule": rules[0] if rules else None,
        "rival": rival,
        "lower_by": None if below is None or not math.isfinite(below.mean) else 1.0 - below.mean,
        "lower_by_ci": ends,
        "is_decided": ends is not None and not ends[0] <= 0.0 <= ends[1],
    }


def ratios_to_rule(
    samples: Samples, standpoints: Mapping[str, Standpoint], *, level: float = DEFAULT_LEVEL
) -> dict[str, Interval]:
    """Each strategy's value over that of the best rule on the same tasks: the mean over seeds with its interval."""
    rules = _rules(_ranked(samples, standpoints), standpoints)
    return {name: _ratio(values, samples[rules[0]], level) for name, values in samples.items()} if rules else {}


def _ranked(samples: Samples, standpoints: Mapping[str, Standpoint]) -> list[str]:
    """The strategies that may lead, the best first."""
    means = {name: float(np.mean(values)) for name, values in samples.items()}
    own = {name: standpoints[name] for name in samples if math.isfinite(means[name])}
    own = {name: one for name, one in own.items() if name.partition("@")[0] != _REFERENCE}
    if any(one.knowledge != EXACT for one in own.values()):
        own = {name: one for name, one in own.items() if one.knowledge != EXACT}
    least = min((one.failed for one in own.values()), default=0.0)
    return sorted((name for name, one in own.items() if one.failed <= least), key=means.__getitem__)


def _rules(ranked: list[str], standpoints: Mapping[str, Standpoint]) -> list[str]:
    return [name for name in ranked if standpoints[name].learning == "none"]


def _ratio(first: Any, second: Any, level: float) -> Interval:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.asarray(first, dtype=np.float64) / np.asarray(second, dtype=np.float64)
    return bounded_interval(ratios, level=level)
