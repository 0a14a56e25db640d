"""The metrics a comparison reports: their names in words, their units and which way is better."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["ASKED", "HEADLINE", "METRICS", "Metric", "figure", "figure_with_interval", "fixed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One column of the metrics table."""

    name: str
    title: str
    unit: str = ""
    lower_is_better: bool = True


METRICS = {
    metric.name: metric
    for metric in (
        Metric(name="mean_latency_s", title="Mean latency", unit="s"),
        Metric(name="p50_latency_s", title="Median latency", unit="s"),
        Metric(name="p95_latency_s", title="95 % latency", unit="s"),
        Metric(name="p99_latency_s", title="99 % latency", unit="s"),
        Metric(name="mean_time_s", title="Mean execution time", unit="s"),
        Metric(name="mean_wait_s", title="Mean wait", unit="s"),
        Metric(name="makespan_s", title="Makespan", unit="s"),
        Metric(name="makespan_gap", title="Makespan above the bound", unit="%"),
        Metric(name="device_seconds", title="Device-seconds", unit="s"),
        Metric(name="throughput", title="Throughput", unit="tasks/s", lower_is_better=False),
        Metric(name="energy_j", title="Energy", unit="J"),
        Metric(name="cost_usd", title="Cost", unit="$"),
        Metric(name="rental_usd", title="Rent", unit="$"),
        Metric(name="electricity_usd", title="Electricity", unit="$"),
        Metric(name="speedup_makespan", title="Speed-up in makespan", unit="×", lower_is_better=False),
        Metric(name="speedup_time", title="Speed-up in execution time", unit="×", lower_is_better=False),
        Metric(name="oom_count", title="Did not fit a GPU", unit="tasks"),
        Metric(name="failed_count", title="Failed", unit="tasks"),
    )
}
# What a summary answers, in this order.
ASKED = ("mean_latency_s", "makespan_s", "mean_time_s", "energy_j", "cost_usd")
HEADLINE = ("mean_latency_s", "mean_time_s", "makespan_s", "energy_j", "cost_usd")


# Nothing we report is this small: what is left of a difference of equal numbers is rounding.
_ROUNDING = 1e-12


def fixed(value: float, places: int) -> str:
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
        return fixed(value, places)
    if abs(value) < _ROUNDING:
        return "0"
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:#.4g}".rstrip(".")
