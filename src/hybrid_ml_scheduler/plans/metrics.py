"""The catalogue of metrics: what each is called, means, is measured in, and where it is shown.

It is `metrics.json` beside this file, which the dashboard imports as well: a metric is declared there and nowhere else.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

__all__ = [
    "CATALOGUE",
    "LISTS",
    "METRICS",
    "TASK_METRICS",
    "MetricCard",
    "figure",
    "figure_with_interval",
    "format_fixed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """One metric: `key` in tables and JSON, `wire` in live updates; `task` and `stored` name a single task's value."""

    key: str
    title: str
    short: str
    unit: str
    better: Literal["lower", "higher", "none"]
    meaning: str
    computed: str
    wire: str | None = None
    task: str | None = None
    stored: str | None = None
    study: bool = True

    @property
    def lower_is_better(self) -> bool:
        """Whether the least value is the best."""
        return self.better == "lower"

    @property
    def head(self) -> str:
        """The title with its unit, as it stands above a column."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath("metrics.json").read_text("utf-8"))
    return found


_DECLARED = _read()
CATALOGUE = {entry["key"]: MetricCard(**entry) for entry in _DECLARED["metrics"]}
# What every study computes; the others are known to the live race alone.
METRICS = {key: metric for key, metric in CATALOGUE.items() if metric.study}
# Which metrics stand where, in which order: tables, comparisons and sentences.
LISTS: dict[str, tuple[str, ...]] = {name: tuple(keys) for name, keys in _DECLARED["lists"].items()}
# The metrics of single tasks that are stored: the name on the wire and the column of the table.
TASK_METRICS = {str(CATALOGUE[key].task): str(CATALOGUE[key].stored) for key in LISTS["task"]}

# Nothing we report is this small: what is left of a difference of equal numbers is rounding.
_ROUNDING = 1e-12


def format_fixed(value: float, places: int) -> str:
    """A number with so many places after the point; adding zero turns the −0 of rounding into 0."""
    return f"{round(value, places) + 0.0:,.{places}f}"


def figure(value: float, unit: str = "") -> str:
    """A number as people read it: four significant digits, a share as per cent."""
    return f"{_digits(100 * value, 1)} %" if unit == "%" else _digits(value)


def figure_with_interval(mean: float, low: float, high: float, unit: str = "") -> str:
    """`mean [low, high]`, or the mean alone where there is no interval."""
    if math.isnan(low):
        return figure(mean, unit)
    if unit == "%":
        return f"{figure(mean, unit)} [{_digits(100 * low, 1)}, {_digits(100 * high, 1)}]"
    return f"{figure(mean)} [{figure(low)}, {figure(high)}]"


def _digits(value: float, places: int | None = None) -> str:
    if math.isnan(value):
        return "–"
    if places is not None:
        return format_fixed(value, places)
    if abs(value) < _ROUNDING:
        return "0"
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:#.4g}".rstrip(".")
