"""The results of a race as plain values: means over seeds with intervals, plan, bound and versions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.plans.inputs import versions
from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL, bounded_interval
from hybrid_ml_scheduler.plans.metrics import LISTS
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.studies.headline import Standpoint, headline, ratios_to_rule
from hybrid_ml_scheduler.studies.race import Entrant, SeedRace, same_tasks, samples_of
from hybrid_ml_scheduler.studies.sequential import Look
from hybrid_ml_scheduler.studies.statistics import Comparison, compare_all

__all__ = ["SAME_TASKS", "race_mapping"]

SAME_TASKS = (
    "same_tasks: every seed gives the same tasks, so these are repeats of one observation; an interval shows only how "
    "much the strategies' own randomness matters, and no winner is named."
)


def race_mapping(
    plan: Plan, strategies: Sequence[Entrant], races: Sequence[SeedRace], look: Look | None = None
) -> dict[str, Any]:
    """Everything a race found out, ready for JSON; `look` is the last one of a search for a decision.

    Such a search looks several times, so its winners and intervals stand at the level that pays for all looks.
    """
    schedulers = {}
    for entrant in strategies:
        metrics = average_row([race.metrics(entrant.name) for race in races])
        schedulers[entrant.name] = {**metrics, "learning": entrant.learning, "knowledge": entrant.level}
    level = DEFAULT_LEVEL if look is None else look.level
    judged_by = races[0].judged_by
    judged = samples_of(races, judged_by)
    views = {
        one.name: Standpoint(learning=one.learning, knowledge=one.level, failed=failed)
        for one, failed in zip(strategies, map(sum, samples_of(races, "failed_count").values()), strict=True)
    }
    for name, ratio in ratios_to_rule(judged, views, level=level).items():
        ends = [_plain(ratio.low), _plain(ratio.high)]
        schedulers[name] |= {"ratio_to_best_rule": _plain(ratio.mean), "ratio_to_best_rule_ci": ends}
    comparisons = [
        one for metric in LISTS["race_compared"] for one in compare_all(metric, samples_of(races, metric), level=level)
    ]
    if len(races) < 2 or same_tasks(races):
        comparisons = []  # one set of tasks shows nothing about the next
    proven = ("makespan_s", "mean_time_s", "mean_latency_s")
    bounds = [{name: getattr(race.bound, name) for name in proven} for race in races]
    return {
        "headline": headline(judged_by, judged, views, level=level),
        "judged_by": judged_by,
        "overload": races[0].floor.figures["overload"],
        "schedulers": schedulers,
        "lower_bound": {**average_row(bounds), "argument": races[0].bound.binding},
        "plan": {**plan.to_mapping(), "digest": plan.digest},
        "seed": plan.seed,
        "seeds": len(races),
        "tasks": races[0].tasks,
        "assumptions": [*races[0].assumptions, *([SAME_TASKS] if same_tasks(races) else [])],
        "comparisons": [_comparison(one) for one in comparisons],
        "comparison_level": level,
        **({} if look is None else {"undecided_pairs": look.open_pairs}),
        "versions": versions(),
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    """A paired comparison as plain values; `winner` (by Holm's p) is null where no difference is shown.

    `difference_ci` is of this pair alone, `difference_ci_all_pairs` holds for all pairs of the metric at once. Without
    a winner a pair is decided where it is shown to be equal within 1 %; `would_have_shown` is the least difference that
    these seeds would have shown four times in five, `seeds_suggested` how many would show the one seen.
    """
    return {
        "metric": one.metric,
        "first": one.first,
        "second": one.second,
        "difference": _plain(one.difference.mean),
        "difference_ci": [_plain(one.difference.low), _plain(one.difference.high)],
        "difference_ci_all_pairs": [_plain(one.simultaneous.low), _plain(one.simultaneous.high)],
        "relative": _plain(one.relative),
        "p_holm": one.p_adjusted,
        "winner": one.winner,
        "is_decided": one.is_decided,
        "would_have_shown": _plain(one.detectable),
        "seeds_suggested": one.seeds_suggested,
    }


def average_row(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row as it is; several as means with `<metric>_ci` beside each."""
    if len(rows) == 1:
        return {key: _plain(value) for key, value in rows[0].items()}
    found: dict[str, Any] = {}
    for key, value in rows[0].items():
        if isinstance(value, Mapping):
            inner = average_row([row[key] for row in rows])
            found[key] = {name: number for name, number in inner.items() if not name.endswith("_ci")}
            found[f"{key}_ci"] = {
                name.removesuffix("_ci"): ends for name, ends in inner.items() if name.endswith("_ci")
            }
        elif any(row[key] is None for row in rows):
            found[key], found[f"{key}_ci"] = None, None
        else:
            interval = bounded_interval([float(row[key]) for row in rows])
            found[key] = _plain(interval.mean)
            found[f"{key}_ci"] = [_plain(interval.low), _plain(interval.high)]
    return found


def _plain(value: Any) -> Any:
    """JSON has no NaN: what is not known is null."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
