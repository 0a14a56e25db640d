"""The tables of a sweep: all cells, their means over seeds, and who leads at each point of the grid."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.plans.metrics import LISTS, METRICS
from hybrid_ml_scheduler.studies.statistics import Comparison, compare_all

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["parameters", "plain_value", "sweep_tables", "varied_parameters"]

_BOUNDS = ["makespan_bound_s", "mean_time_bound_s"]


def parameters(table: pd.DataFrame) -> list[str]:
    """The swept parameters of a table: their names, and no other column's, have a dot."""
    return [str(column) for column in table.columns if "." in column]


def varied_parameters(table: pd.DataFrame) -> list[str]:
    """The parameters with more than one value; of a grid of one point the first."""
    keys = parameters(table)
    return [key for key in keys if table[key].nunique(dropna=False) > 1] or keys[:1]


def plain_value(value: Any) -> Any:
    """A value of the grid as a cell of a table."""
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def sweep_tables(rows: Sequence[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    """All tables from one row a cell and strategy, in the order of the grid: the same from every engine."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    keys = parameters(frame)
    points = frame.groupby(keys, sort=False, dropna=False)
    intervals = [row for point, own in points for row in _intervals(dict(zip(keys, point, strict=True)), own)]
    leaders = [row for point, own in points for row in _leaders(dict(zip(keys, point, strict=True)), own)]
    return {"sweep": frame, "intervals": pd.DataFrame(intervals), "leaders": pd.DataFrame(leaders)}


def _intervals(point: dict[str, Any], own: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for name, group in own.groupby("scheduler", sort=False):
        for metric in METRICS:
            if metric in group:
                found = bounded_interval(group[metric].to_numpy(dtype=float))
                ends = {"mean": found.mean, "low": found.low, "high": found.high, "count": found.count}
                yield {**point, "scheduler": name, "metric": metric, **ends}


def _leaders(point: dict[str, Any], own: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The lowest mean of each metric that is asked about, and whom it is shown to beat at this point."""
    repeated = _same_tasks(own)
    for metric in LISTS["summary"]:
        columns = {
            str(name): group[metric].to_numpy(dtype=float) for name, group in own.groupby("scheduler", sort=False)
        }
        samples = {name: column for name, column in columns.items() if not math.isnan(column.mean())}
        if samples:
            leader = min(samples, key=lambda name: float(samples[name].mean()))
            pairs = [] if repeated else compare_all(metric, samples)
            beaten = {_other(pair, leader) for pair in pairs if pair.winner == leader}
            tied = [name for name in samples if name != leader and name not in beaten]
            found = bounded_interval(samples[leader])
            ends = {"mean": found.mean, "low": found.low, "high": found.high, "count": found.count}
            rest = {"beaten": len(beaten), "tied": len(tied), "tied_with": ", ".join(tied)}
            yield {**point, "metric": metric, "scheduler": leader, **ends, **rest}


def _same_tasks(own: pd.DataFrame) -> bool:
    """Equal bounds on every seed are equal tasks: repeats of one observation, which show no winner."""
    return own["seed"].nunique() > 1 and len(own[_BOUNDS].drop_duplicates()) == 1


def _other(pair: Comparison, name: str) -> str:
    return pair.second if pair.first == name else pair.first
