"""How far the model is off: streams run for real and in the model, the errors beside the spread of real repeats."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.execution.runs.calibration import Calibration
from hybrid_ml_scheduler.execution.runs.modelled_run import simulate
from hybrid_ml_scheduler.execution.runs.run_result import RunResult, half_width
from hybrid_ml_scheduler.execution.runs.streams import RealStream, drawn_stream
from hybrid_ml_scheduler.execution.runs.study import Bench, make_strategy, slowness, stream_of_length

__all__ = [
    "Comparison",
    "RealCase",
    "case_summary",
    "compare",
    "fidelity",
    "measured_cases",
    "predict",
    "read_cases",
    "widen",
]

METRICS = ("makespan_s", "mean_latency_s", "p95_latency_s")
DRAWS = 20
# What half of the runs, and nine in ten, may be off by. A latency may also be off by as much as real repeats of its own
# case differ: no model can tell apart what reality does not.
LIMITS = {"makespan_s": (0.05, 0.15), "mean_latency_s": (0.10, 0.25), "p95_latency_s": (0.10, 0.25)}


# What stands before a device's name in a summary where it is told how slow the device was in the run.
_SLOWNESS = "slowness_"
_DECISION = "decision_s"
# How fast the level of a device goes to where the run before saw it: exponential smoothing.
_FOLLOWED = 0.3


class Comparison(NamedTuple):
    """One metric of one real run beside its prediction and the ends of the prediction's 90 % interval.

    `usual` is the prediction for the machine as it was calibrated, with no word about how fast it was right before.
    """

    load: float
    strategy: str
    seed: int
    repeat: int
    metric: str
    measured: float
    modelled: float
    low: float
    high: float
    usual: float

    @property
    def error(self) -> float:
        """Modelled over measured, less 1."""
        return self.modelled / self.measured - 1.0


class _Prediction(NamedTuple):
    """Median and 90 % interval of every metric, and how slow each device is, as a mean."""

    metrics: dict[str, tuple[float, float, float]]
    slowness: dict[str, float]


def predict(
    name: str,
    tasks: RealStream,
    calibration: Calibration,
    draws: int = DRAWS,
    knows: bool = True,
    levels: Mapping[str, float] | None = None,
    decision_s: float = 0.0,
) -> _Prediction:
    """What so many simulated runs say."""
    runs = [
        simulate(
            tasks,
            calibration,
            make_strategy(name, tasks, calibration),
            seed=draw,
            knows=knows,
            levels=levels,
            decision_s=decision_s,
        )
        for draw in range(draws)
    ]
    summaries, found = [run.summary() for run in runs], {}
    for metric in METRICS:
        values = np.array([summary[metric] for summary in summaries])
        low, high = np.quantile(values, [0.05, 0.95])
        found[metric] = (float(np.median(values)), float(low), float(high))
    slow = [slowness(run, tasks, calibration) for run in runs]
    devices = {device for one in slow for device in one}
    return _Prediction(
        found, {device: statistics.fmean(one[device] for one in slow if device in one) for device in devices}
    )


class RealCase(NamedTuple):
    """One real run of a case, its summary, and whether the strategy knew the calibration or started ignorant."""

    load: float
    strategy: str
    seed: int
    seconds: float
    repeat: int
    summary: dict[str, float]
    knows: bool = True

    @property
    def decision_s(self) -> float:
        """How long the strategy takes to decide about a task."""
        return self.summary.get(_DECISION, 0.0)

    @property
    def slowness(self) -> dict[str, float]:
        """By how much (a logarithm) the tasks of each device took longer than alone."""
        return {key.removeprefix(_SLOWNESS): value for key, value in self.summary.items() if key.startswith(_SLOWNESS)}


def case_summary(run: RunResult, tasks: RealStream, calibration: Calibration, decision_s: float) -> dict[str, float]:
    """The figures of a run, what deciding takes its strategy, and how slow each device was in it."""
    slow = {f"{_SLOWNESS}{device}": value for device, value in slowness(run, tasks, calibration).items()}
    return {**run.summary(), _DECISION: decision_s, **slow}


def measured_cases(
    bench: Bench,
    loads: Sequence[float],
    strategies: Sequence[str],
    repeats: int,
    seconds: float,
    say: Callable[[str, int, int], Any],
    seed: int = 1,
) -> Iterator[RealCase]:
    """Run every load and strategy so many times; every load has a stream of its own, which calibration never saw."""
    cases = list(itertools.product(range(repeats), loads, strategies))
    for done, (repeat, load, strategy) in enumerate(cases):
        say(f"{strategy} at load {load:g}, run {repeat + 1}", done, len(cases))
        own_seed = 1000 * seed + round(100 * load)
        tasks = stream_of_length(bench.calibration, seconds, load, own_seed)
        decision_s = bench.decision_s(strategy)
        summary = case_summary(bench.run(strategy, tasks), tasks, bench.calibration, decision_s)
        yield RealCase(load, strategy, own_seed, seconds, repeat, summary)


def read_cases(path: Path) -> list[RealCase]:
    """Real runs that were written down elsewhere."""
    try:
        return [RealCase(*row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise ProfileError(f"{path}: these real runs cannot be read ({error}).") from error


def _stream_of(case: RealCase, calibration: Calibration) -> RealStream:
    """The tasks of a real run; as many as there were, so that any calibration of the machine can judge it."""
    if "tasks" not in case.summary:
        return stream_of_length(calibration, case.seconds, case.load, case.seed)
    count = int(case.summary["tasks"])
    tasks = drawn_stream(calibration.sizes, count, case.seed)
    return tasks.at_once() if case.load >= 1.0 else tasks.at_rate(count / case.seconds)


def compare(cases: Iterable[RealCase], calibration: Calibration, draws: int = DRAWS) -> list[Comparison]:
    """The metrics of real runs beside their predictions, which know nothing that was measured later than they began.

    The cases are in the order in which they were run. A shared machine is not as fast now as it was some minutes ago:
    what the tasks of each device took longer than modelled in the runs before, smoothed, is its level in the next one.
    One run alone would also tell what was particular to it.
    """
    found: list[Comparison] = []
    known: dict[Hashable, _Prediction] = {}
    levels: dict[str, float] = {}
    for case in cases:
        now, usual = (_prediction(case, level, calibration, draws, known) for level in (levels, {}))
        for metric in METRICS:
            middle, low, high = now.metrics[metric]
            measured, typical = case.summary[metric], usual.metrics[metric][0]
            found.append(
                Comparison(
                    case.load, case.strategy, case.seed, case.repeat, metric, measured, middle, low, high, typical
                )
            )
        slow = case.slowness
        for device in slow.keys() & usual.slowness.keys():
            level = levels.get(device, 0.0)
            levels[device] = level + _FOLLOWED * (slow[device] - usual.slowness[device] - level)
    return found


def _prediction(
    case: RealCase,
    levels: Mapping[str, float],
    calibration: Calibration,
    draws: int,
    known: dict[Hashable, _Prediction],
) -> _Prediction:
    """What is predicted of a case with the machine at these levels, worked out once."""
    key = (case.load, case.strategy, case.seed, case.seconds, case.knows, case.decision_s, *sorted(levels.items()))
    if key not in known:
        tasks = _stream_of(case, calibration)
        known[key] = predict(case.strategy, tasks, calibration, draws, case.knows, levels, case.decision_s)
    return known[key]


def widen(rows: Sequence[Comparison]) -> list[Comparison]:
    """The same rows with intervals as wide as the errors of all other cases ask for.

    What the model draws knows the uncertainty of the calibration, and not that of the model itself. So an interval
    reaches at least as far as nine in ten errors of the other loads and strategies did, which it has never seen.
    """
    found = []
    for row in rows:
        others = [
            abs(math.log(one.modelled / one.measured))
            for one in rows
            if one.metric == row.metric and (one.load, one.strategy) != (row.load, row.strategy)
        ]
        reach = math.exp(_upper(others)) if others else 1.0
        low, high = min(row.low, row.modelled / reach), max(row.high, row.modelled * reach)
        found.append(row._replace(low=low, high=high))
    return found


def _upper(errors: Sequence[float]) -> float:
    """What nine in ten of further errors stay below: the rank is one higher than that of those seen."""
    rank = math.ceil(0.9 * (len(errors) + 1))
    return sorted(errors)[min(rank, len(errors)) - 1]


def fidelity(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The verdict: errors, coverage, spread of real repeats, and whether the model ranks strategies as reality does."""
    verdict: dict[str, Any] = {"runs": len(comparisons) // len(METRICS)}
    wide = widen(comparisons)
    for metric in METRICS:
        mine = [row for row in comparisons if row.metric == metric]
        held = [row.low <= row.measured <= row.high for row in wide if row.metric == metric]
        errors = np.abs([row.error for row in mine])
        verdict[metric] = {
            "median_error": float(np.median(errors)),
            "p90_error": float(np.quantile(errors, 0.9)),
            "worst_error": float(errors.max()),
            "coverage": float(np.mean(held)),
            "coverage_of_draws": float(np.mean([row.low <= row.measured <= row.high for row in mine])),
            "repeat_spread": _repeat_spread(mine),
            **_shares_within(metric, mine),
            "median_error_of_means": _error_of_means(mine),
        }
    for name, metric in (("ranking", "makespan_s"), ("ranking_latency", "mean_latency_s")):
        mine = [row for row in comparisons if row.metric == metric]
        verdict[name] = _ranking(mine, _interval)
        verdict[f"{name}_of_extremes"] = _ranking(mine, _extremes)
    return verdict


def _groups(rows: Sequence[Comparison]) -> dict[tuple[float, int, str], list[Comparison]]:
    """Repeats of one stream with one strategy."""
    groups: dict[tuple[float, int, str], list[Comparison]] = defaultdict(list)
    for row in rows:
        groups[row.load, row.seed, row.strategy].append(row)
    return groups


def _spread(group: Sequence[Comparison]) -> float:
    """(Longest - shortest) / mean of real repeats; 0 of one."""
    values = [row.measured for row in group]
    return (max(values) - min(values)) / (sum(values) / len(values))


def _repeat_spread(rows: Sequence[Comparison]) -> float | None:
    """The median spread over cases that ran more than once."""
    spreads = [_spread(group) for group in _groups(rows).values() if len(group) > 1]
    return float(np.median(spreads)) if spreads else None


def _shares_within(metric: str, rows: Sequence[Comparison]) -> dict[str, Any]:
    """The shares of runs that are off by no more than each limit, and whether half and nine in ten are."""
    usual, most = LIMITS[metric]
    off = [
        (abs(row.error), 0.0 if metric == "makespan_s" else _spread(group))
        for group in _groups(rows).values()
        for row in group
    ]
    half = float(np.mean([error <= max(usual, spread) for error, spread in off]))
    nine = float(np.mean([error <= max(most, spread) for error, spread in off]))
    return {"share_within_half_limit": half, "share_within_90_limit": nine, "holds": half >= 0.5 and nine >= 0.9}


def _error_of_means(rows: Sequence[Comparison]) -> float:
    """The median over cases of the error against the mean of the real repeats: what is left when these are averaged."""
    groups = _groups(rows).values()
    means = [(_modelled(group), statistics.fmean(row.measured for row in group)) for group in groups]
    return float(np.median([abs(modelled / measured - 1.0) for modelled, measured in means]))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the 95 % interval of the mean of real repeats."""
    middle, half = statistics.fmean(values), half_width(values)
    return middle - half, middle + half


def _extremes(values: Sequence[float]) -> tuple[float, float]:
    """The least and the most of real repeats."""
    return min(values), max(values)


def _ranking(rows: Sequence[Comparison], interval: Callable[[Sequence[float]], tuple[float, float]]) -> dict[str, int]:
    """Pairs of strategies whose real intervals do not overlap, and how many of them the model orders as reality does.

    One run has no interval: strategies that ran once are not ranked. The model orders them on one machine, as it was
    calibrated: what each of them found right before its own runs is no property of a strategy.
    """
    groups = {key: group for key, group in _groups(rows).items() if len(group) > 1}
    ends = {key: interval([row.measured for row in group]) for key, group in groups.items()}
    told = agreed = 0
    for left, right in itertools.combinations(groups, 2):
        if left[:2] != right[:2]:
            continue
        longer, shorter = (left, right) if ends[left] > ends[right] else (right, left)
        if ends[longer][0] > ends[shorter][1]:
            told += 1
            agreed += _usual(groups[longer]) > _usual(groups[shorter])
    return {"pairs": told, "agreed": agreed}


def _usual(group: Sequence[Comparison]) -> float:
    """The mean prediction for the machine as it was calibrated."""
    return statistics.fmean(row.usual for row in group)


def _modelled(group: Sequence[Comparison]) -> float:
    """The mean prediction of repeats, before each of which the machine's speed was measured."""
    return statistics.fmean(row.modelled for row in group)
