"""From records of trials to the tables that are stored, drawn and printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL, Interval, bounded_interval, share_interval
from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS
from hybrid_ml_scheduler.studies.headline import Standpoint, ratios_to_rule
from hybrid_ml_scheduler.studies.statistics import EQUAL, NOT_DECIDED, Comparison, compare_all
from hybrid_ml_scheduler.studies.trials import FLOOR, Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "REFERENCE",
    "comparison_table",
    "interval_ends",
    "interval_table",
    "metric_table",
    "ratio_table",
    "samples_by_seed",
    "seeds_are_alike",
    "standpoints",
    "tables_of",
    "wide_report",
    "win_shares",
    "win_table",
]

REFERENCE = "round_robin"
_WIN_METRICS = ("latency_s", "execution_s", "energy_j", "cost_usd")
_CURVE_POINTS = 50


def tables_of(records: Sequence[Record], order: Sequence[str]) -> dict[str, pd.DataFrame]:
    """All tables of one comparison, strategies in the order given."""
    floors = {record.seed: record for record in records if record.name == FLOOR}
    runs = [record for record in records if record.name != FLOOR]
    runs.sort(key=lambda record: (order.index(record.name), record.seed))
    metrics = metric_table(runs, floors)
    first = min(floors)
    comparisons = comparison_table(metrics)
    return {
        "metrics": metrics,
        "intervals": interval_table(metrics),
        # Repeats of one observation name no winner.
        "comparisons": comparisons.iloc[:0] if seeds_are_alike(floors.values()) else comparisons,
        "wins": win_table(runs),
        "curves": curve_table(runs, floors),
        "front": _front(floors[first]),
        "workload": _workload(floors[first]),
        "tasks": _placements([record for record in runs if record.seed == first]),
    }


def seeds_are_alike(floors: Collection[Record]) -> bool:
    """Whether several seeds gave the very same tasks, as a file does that leaves nothing to be drawn."""
    bounds = {(floor.figures["makespan_s"], floor.figures["mean_time_s"]) for floor in floors}
    return len(floors) > 1 and len(bounds) == 1


def metric_table(runs: Sequence[Record], floors: Mapping[int, Record]) -> pd.DataFrame:
    """One row a strategy and seed, with the proven bounds and the speed-up over round robin beside."""
    import pandas as pd

    rows = []
    for record in runs:
        bound = floors[record.seed].figures
        row = {"scheduler": record.name, "seed": record.seed, **record.figures}
        failed = record.figures["failed_count"] > 0 or bound["makespan_s"] <= 0
        row["makespan_gap"] = math.nan if failed else record.figures["makespan_s"] / bound["makespan_s"] - 1.0
        row["makespan_bound_s"], row["mean_time_bound_s"] = bound["makespan_s"], bound["mean_time_s"]
        row["bound"] = bound["binding"]
        rows.append(row)
    frame = pd.DataFrame(rows)
    reference = frame[frame["scheduler"] == REFERENCE].set_index("seed")
    for name, source in (("speedup_makespan", "makespan_s"), ("speedup_time", "mean_time_s")):
        known = reference[source] if len(reference) else pd.Series(dtype=float)
        frame[name] = frame["seed"].map(known).astype(float) / frame[source]
    return frame


def interval_table(metrics: pd.DataFrame, names: Collection[str] = METRICS) -> pd.DataFrame:
    """One row a strategy and metric: the mean over seeds with its 95 % interval, none below zero."""
    import pandas as pd

    rows = []
    for name, group in metrics.groupby("scheduler", sort=False):
        for metric in names:
            found = bounded_interval(group[metric].to_numpy(dtype=float))
            rows.append({"scheduler": name, "metric": metric, **interval_ends(found), "method": found.method})
    return pd.DataFrame(rows)


def samples_by_seed(metrics: pd.DataFrame, metric: str) -> dict[str, np.ndarray]:
    """The values of one metric by strategy, one for each seed."""
    wide = metrics.pivot(index="seed", columns="scheduler", values=metric)
    return {name: wide[name].to_numpy(dtype=float) for name in metrics["scheduler"].unique()}


def standpoints(
    metrics: pd.DataFrame, learning: Mapping[str, str], knowledge: Mapping[str, str]
) -> dict[str, Standpoint]:
    """Which strategies may lead, from how they learn, what they know and how many tasks they failed."""
    failed = metrics.groupby("scheduler")["failed_count"].sum()
    return {
        name: Standpoint(learning=learning[name], knowledge=knowledge[name], failed=float(failed[name]))
        for name in learning
    }


def ratio_table(
    metrics: pd.DataFrame, views: Mapping[str, Standpoint], *, level: float = DEFAULT_LEVEL
) -> pd.DataFrame:
    """One row a strategy and metric: its value over that of the best rule on the metric, with the interval."""
    import pandas as pd

    rows = [
        {"scheduler": name, "metric": metric, **interval_ends(ratio)}
        for metric in LISTS["compared"]
        for name, ratio in ratios_to_rule(samples_by_seed(metrics, metric), views, level=level).items()
    ]
    return pd.DataFrame(rows, columns=["scheduler", "metric", "mean", "low", "high", "count", "level"])


def interval_ends(found: Interval) -> dict[str, Any]:
    """An interval as columns of a table."""
    return {"mean": found.mean, "low": found.low, "high": found.high, "count": found.count, "level": found.level}


def comparison_table(
    metrics: pd.DataFrame, names: Collection[str] = LISTS["compared"], *, level: float = DEFAULT_LEVEL
) -> pd.DataFrame:
    """One row a pair of strategies and metric, with both intervals, Holm's p and verdict; lower is better.

    `low` and `high` are of this pair alone (unadjusted), `low_all` and `high_all` of all pairs at once (Bonferroni).
    `level` is that of both and of the verdict: higher than usual where a race was looked at several times.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for metric in names:
        samples = samples_by_seed(metrics, metric)
        rows.extend({**_compared(one), "level": level} for one in compare_all(metric, samples, level=level))
    return pd.DataFrame(rows, columns=_COMPARISON_COLUMNS)


def _compared(one: Comparison) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "first": one.first,
        "second": one.second,
        "difference": one.difference.mean,
        "low": one.difference.low,
        "high": one.difference.high,
        "low_all": one.simultaneous.low,
        "high_all": one.simultaneous.high,
        "relative": one.relative,
        "p_value": one.p_value,
        "p_holm": one.p_adjusted,
        "winner": one.winner or (EQUAL if one.is_decided else NOT_DECIDED),
        "would_have_shown": one.detectable,
        "seeds_suggested": math.nan if one.seeds_suggested is None else float(one.seeds_suggested),
        "count": one.difference.count,
    }


_COMPARISON_COLUMNS = [
    "metric",
    "first",
    "second",
    "difference",
    "low",
    "high",
    "low_all",
    "high_all",
    "relative",
    "p_value",
    "p_holm",
    "winner",
    "would_have_shown",
    "seeds_suggested",
    "count",
    "level",
]


def win_shares(values: Mapping[str, np.ndarray]) -> dict[tuple[str, str], float]:
    """Share of tasks where the row's value is lower than the column's; equal values count for nobody."""
    return {
        (row, column): float(np.mean(values[row] < values[column]))
        for row in values
        for column in values
        if row != column
    }


def win_table(runs: Sequence[Record]) -> pd.DataFrame:
    """Win/loss matrix in long form: mean share over seeds with its interval."""
    import pandas as pd

    rows = []
    for metric in _WIN_METRICS:
        by_seed: dict[int, dict[str, np.ndarray]] = {}
        for record in runs:
            by_seed.setdefault(record.seed, {})[record.name] = record.columns[metric]
        shares = [win_shares(values) for values in by_seed.values()]
        for row, column in shares[0]:
            found = share_interval([share[row, column] for share in shares])
            rows.append({"metric": metric, "row": row, "column": column, **interval_ends(found)})
    return pd.DataFrame(rows, columns=["metric", "row", "column", "mean", "low", "high", "count", "level"])


def curve_table(runs: Sequence[Record], floors: Mapping[int, Record]) -> pd.DataFrame:
    """How each strategy did along the run: execution time over the best possible, window by window."""
    import pandas as pd

    rows = []
    for record in runs:
        ratio = record.columns["execution_s"] / floors[record.seed].columns["best_s"]
        edges = np.unique(np.linspace(0, len(ratio), min(_CURVE_POINTS, len(ratio)) + 1).astype(int))
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            window = ratio[begin:end]
            value = float(np.nanmean(window)) if np.isfinite(window).any() else math.nan
            rows.append({"scheduler": record.name, "seed": record.seed, "tasks": end, "time_ratio": value})
    return pd.DataFrame(rows)


def _front(floor: Record) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: floor.columns[f"front_{name}"] for name in ("time_s", "energy_j")})


def _workload(floor: Record) -> pd.DataFrame:
    import pandas as pd

    names = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "cpu_s", "gpu_s")
    return pd.DataFrame({name: floor.columns[name] for name in names})


def _placements(runs: Sequence[Record]) -> pd.DataFrame:
    import pandas as pd

    frames = [pd.DataFrame({"scheduler": record.name, **record.columns}) for record in runs]
    return pd.concat(frames, ignore_index=True)


def wide_report(intervals: pd.DataFrame) -> pd.DataFrame:
    """One row a strategy: every metric with the ends of its interval beside it."""
    import pandas as pd

    rows = []
    for name, group in intervals.groupby("scheduler", sort=False):
        row: dict[str, Any] = {"scheduler": name, "seeds": int(group["count"].max())}
        for metric, mean, low, high in group[["metric", "mean", "low", "high"]].itertuples(index=False):
            row.update({metric: mean, f"{metric}_low": low, f"{metric}_high": high})
        rows.append(row)
    return pd.DataFrame(rows)
