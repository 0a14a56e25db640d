"""What the numbers say, in sentences made from the stored tables and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL
from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS, figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.studies.statistics import EQUAL

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "METHOD",
    "Standing",
    "early_and_late",
    "executive_summary",
    "headline_words",
    "level_words",
    "overload_warning",
    "power_words",
    "ranking",
    "setting",
    "standing",
    "told_standing",
]

_MOST_NAMES = 3

METHOD = (
    "Every strategy meets the same tasks for the same seed. A pair of numbers in brackets is a 95 % interval of the "
    "mean over seeds (Student's t), unadjusted unless it says otherwise, and cut off at zero where the quantity cannot "
    "be negative, as a gap to a proven bound. Strategies are compared by their differences seed by seed (paired t "
    "test), and over all pairs of a metric Holm's method keeps the chance of any false winner at 5 %. Where that "
    "names no winner, the pair is “equal within 1 %” if the interval over all pairs is so narrow, else “not decided”. "
    "With one seed there are no intervals and no winners."
)


def setting(run: Mapping[str, Any]) -> str:
    """What was run, in a sentence."""
    workload = run["plan"]["workload"]
    source = f"of the preset {workload['preset']}" if "preset" in workload else f"from {workload['file']}"
    seeds = "one seed" if run["seeds"] == 1 else f"{run['seeds']} seeds"
    return (
        f"{amount(run['tasks'], 'task')} {source} on 1 CPU + {amount(run['plan']['simulation']['num_gpus'], 'GPU')}, "
        f"{amount(len(run['schedulers']), 'strategy', 'strategies')}, {seeds}."
    )


def executive_summary(run: Mapping[str, Any], read: Callable[[str], pd.DataFrame]) -> list[str]:
    """The findings, most important first; each winner comes with its interval."""
    intervals, comparisons = read("intervals"), read("comparisons")
    told = headline_words(run, label_of)
    sentences = [
        setting(run),
        overload_warning(run),
        told,
        *(_leader(metric, intervals, comparisons) for metric in LISTS["summary"]),
    ]
    if run["seeds"] > 1 and any("not decided" in sentence for sentence in sentences):
        sentences.append(f"Where it is not decided, more seeds may decide it; these are {run['seeds']}.")
    sentences.append(_certificate(run, intervals, read("metrics")))
    if run["kind"] != "race":  # a race keeps no way along the tasks
        sentences += _learners(run, read("curves"))
    sentences += _memory(intervals)
    if "oracle" in run["schedulers"]:
        sentences.append(
            "The oracle takes the fastest split of each task and ignores queues: it is the reference for execution "
            "time, not for latency or makespan."
        )
    return [sentence for sentence in sentences if sentence]


def overload_warning(result: Mapping[str, Any]) -> str:
    """The warning that a device gets more work than it can do; empty where all keep up or a folder does not say it."""
    said = result.get("overload")
    return f"Warning: {said}" if said else ""


def headline_words(result: Mapping[str, Any], name: Callable[[str], str] = str) -> str:
    """Who is best on the metric that the tasks are about, and by how much; empty where a result does not know it.

    A leader is compared with the best simple rule, a rule with the best strategy that learns.
    """
    found: Mapping[str, Any] | None = result.get("headline")
    if not found or found["rival"] is None:
        return ""
    metric = METRICS[found["metric"]].title.lower()
    best, rival, learning = found["best"], found["rival"], _learning(result)
    rules = [one for one in (best, rival) if learning.get(one) == "none"]
    role = "the best simple rule" if rival in rules else "the best strategy that learns"
    role = "the next one" if len(rules) != 1 else role
    said = f"{name(best)} is best: its {metric} is "
    if found["lower_by"] is None:
        return f"{said}the lowest; the next is {name(rival)}, {role}."
    share = f"{100.0 * found['lower_by']:.1f} %"
    if found["lower_by_ci"] is None:
        why = "one seed" if result["seeds"] == 1 else "seeds with the same tasks"
        return f"{said}{share} below that of {name(rival)}, {role}; {why} cannot give an interval."
    low, high = (100.0 * end for end in found["lower_by_ci"])
    end = "" if found["is_decided"] else f": not decided by {amount(result['seeds'], 'seed')}"
    return f"{said}{share} [{low:.1f}, {high:.1f}] below that of {name(rival)}, {role}{end}."


def _learning(result: Mapping[str, Any]) -> dict[str, str]:
    """How each strategy learns, from the result of a race or the facts of a folder."""
    rows: Mapping[str, Any] = result["schedulers"]
    return {name: row if isinstance(row, str) else row["learning"] for name, row in rows.items()}


def ranking(metric: str, intervals: pd.DataFrame) -> pd.DataFrame:
    """The strategies' means of one metric, the best first."""
    rows = intervals[(intervals["metric"] == metric) & intervals["mean"].notna()]
    known = METRICS.get(metric)
    return rows.sort_values("mean", ascending=known is None or known.lower_is_better, kind="stable")


class Standing(NamedTuple):
    """Who leads a metric, whom it is not shown to beat, how many it beats, who is second, and the pair with that one.

    Of those that it is not shown to beat, some are shown to be its equals; `open` is the nearest pair not decided.
    """

    best: Any
    not_beaten: list[str]
    equals: list[str]
    open: Any
    beaten: int
    second: str
    nearest: Any


def standing(metric: str, intervals: pd.DataFrame, comparisons: pd.DataFrame) -> Standing | None:
    """Where the leader of a metric stands; None where there is nothing to compare."""
    rows = ranking(metric, intervals)
    pairs = comparisons[comparisons["metric"] == metric]
    if len(rows) < 2 or not len(pairs):
        return None
    best, second = rows.iloc[0], str(rows.iloc[1]["scheduler"])
    own = pairs[(pairs["first"] == best["scheduler"]) | (pairs["second"] == best["scheduler"])]
    winners = {_other(row, best["scheduler"]): row["winner"] for _, row in own.iterrows()}
    rest = [str(name) for name in rows["scheduler"] if winners.get(name, best["scheduler"]) != best["scheduler"]]
    equals = [name for name in rest if winners[name] == EQUAL]
    undecided = [name for name in rest if name not in equals]
    pair = _pair(own, undecided[0]) if undecided else None
    return Standing(best, rest, equals, pair, len(own) - len(rest), second, _pair(own, second))


def _pair(own: pd.DataFrame, name: str) -> Any:
    return own[(own["first"] == name) | (own["second"] == name)].iloc[0]


def _leader(metric: str, intervals: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    rows = ranking(metric, intervals)
    if len(rows) < 2:
        return ""
    best, unit = rows.iloc[0], METRICS[metric].unit
    value = figure_with_interval(best["mean"], best["low"], best["high"], unit)
    text = f"{METRICS[metric].title}: {label_of(best['scheduler'])} has the lowest mean, {_with_unit(value, unit)}. "
    if math.isnan(best["low"]):
        return text + "One seed shows no winner."
    found = standing(metric, intervals, comparisons)
    if found is None:
        return text + "Every seed gives the same tasks, so no winner is named."
    return text + told_standing(found, unit)


def told_standing(found: Standing, unit: str, most_names: int = _MOST_NAMES) -> str:
    """Whom the leader beats and by how much, or against whom it is not decided; more names than these are counted."""
    beaten, undecided = found.beaten, [name for name in found.not_beaten if name not in found.equals]
    rest = {0: "It beats none", 1: "It beats the one other"}.get(beaten, f"It beats the {beaten} others")
    said = []
    if found.equals:
        said.append(f"Its equals within 1 % are {_names(found.equals, most_names)}.")
    if undecided:
        seeds = amount(int(found.open["count"]), "seed")
        power = power_words(*_power(found.open), lambda value: _with_unit(figure(value), unit))
        nearest = label_of(_other(found.open, found.best["scheduler"]))
        of_whom = f"; for {nearest}, the nearest, " if len(undecided) > 1 else ": "
        said.append(
            f"Against {_names(undecided, most_names)} it is not decided by {seeds}{of_whom + power if power else ''}."
        )
    if said:
        return " ".join([*said, f"{rest}."])
    gap = _gap(found.nearest, found.best, unit)
    level = _percent(found.nearest.get("level", DEFAULT_LEVEL))
    return f"It beats all others; the next is {label_of(found.second)}, {gap} (unadjusted {level})."


def power_words(
    would_have_shown: float | None, seen: float, suggested: float | None, told: Callable[[float], str]
) -> str:
    """How large a difference the seeds would have shown, and how many would show the one seen; empty if not known."""
    if would_have_shown is None or math.isnan(would_have_shown):
        return ""
    said = f"a difference of {told(would_have_shown)} would have been shown four times in five"
    if suggested is None or math.isnan(suggested):
        return said
    return f"{said}, and the one seen ({told(abs(seen))}) with about {int(suggested):,} seeds"


def _power(pair: Any) -> tuple[float, float, float]:
    """Folders of the first edition do not know them."""
    unknown = math.nan
    return pair.get("would_have_shown", unknown), float(pair["difference"]), pair.get("seeds_suggested", unknown)


def _names(names: list[str], most: int) -> str:
    if len(names) > most:
        return f"{len(names)} strategies (the report's table names them)"
    return " and ".join(filter(None, [", ".join(label_of(name) for name in names[:-1]), label_of(names[-1])]))


def level_words(pairs: pd.DataFrame) -> str:
    """The level of the intervals of stored pairs, such as 95 %."""
    return _percent(pairs["level"].iloc[0] if "level" in pairs and len(pairs) else DEFAULT_LEVEL)


def _percent(level: float) -> str:
    return f"{100.0 * level:.3g} %"


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "%") else f"{value} {unit}"


def _other(row: pd.Series[Any], name: str) -> str:
    return str(row["second"] if row["first"] == name else row["first"])


def _gap(row: pd.Series[Any], best: pd.Series[Any], unit: str) -> str:
    sign = -1.0 if row["first"] == best["scheduler"] else 1.0
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return _with_unit(figure_with_interval(sign * row["difference"], low, high), unit) + " behind"


def _certificate(run: Mapping[str, Any], intervals: pd.DataFrame, metrics: pd.DataFrame) -> str:
    bound = float(metrics.drop_duplicates("seed")["makespan_bound_s"].mean())
    rows = ranking("makespan_gap", intervals)
    if not len(rows):
        return "Tasks failed in every strategy, so no makespan can be held against the bound."
    best = rows.iloc[0]
    gap = figure_with_interval(best["mean"], best["low"], best["high"], "%")
    return (
        f"Certificate: no schedule of these tasks on this node ends before {figure(bound)} s "
        f"(mean over seeds, proved by {run['bound']}); {label_of(best['scheduler'])} comes closest, {gap} above it."
    )


def _learners(run: Mapping[str, Any], curves: pd.DataFrame) -> list[str]:
    sentences = []
    for name, learning in run["schedulers"].items():
        own = curves[(curves["scheduler"] == name) & curves["time_ratio"].notna()]
        if learning == "none" or not len(own):
            continue
        early, late = early_and_late(own)
        sentences.append(
            f"{label_of(name)} (learning: {learning}) took {figure(early)} times the best possible execution time in "
            f"the first tenth of the run and {figure(late)} times in the last."
        )
    return sentences


def early_and_late(own: pd.DataFrame) -> tuple[float, float]:
    """One strategy's execution time over the best possible one: means of the first and the last tenth of the run."""
    tenth = own["tasks"].max() / 10
    early = own.loc[own["tasks"] <= tenth, "time_ratio"].mean()
    return float(early), float(own.loc[own["tasks"] > 9 * tenth, "time_ratio"].mean())


def _memory(intervals: pd.DataFrame) -> list[str]:
    rows = intervals[(intervals["metric"] == "oom_count") & (intervals["mean"] > 0)]
    if not len(rows):
        return []
    most = rows.sort_values("mean", ascending=False, kind="stable").iloc[0]
    return [
        f"Some shares did not fit a GPU's memory: most often those of {label_of(most['scheduler'])} "
        f"({figure(most['mean'])} tasks a run)."
    ]
