"""The metrics of one strategy over a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.physics.energy import Tariff, electricity_usd
from hybrid_ml_scheduler.physics.node import RentalOf
from hybrid_ml_scheduler.physics.optimum import bounded_slowdown

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Means, percentiles and totals over the completed tasks of a run; energies and costs over all.

    Energy holds the idle devices' too, where the node says what they draw; rent is that of busy seconds, or of the
    whole node until the last finish, as the node says.
    A slowdown is the latency over the fastest possible execution, which counts as 10 ms at least; NaN where that is not
    given. `within_deadline` is the share of the tasks with a deadline that kept it, NaN where none has one; a task that
    failed has not. `mean_queue_length` is the mean number of tasks that are ready and not finished, those in service
    included.
    """

    tasks: int
    failed_count: int
    oom_count: int
    rounded_count: int
    mean_time_s: float
    mean_latency_s: float
    p50_latency_s: float
    p95_latency_s: float
    p99_latency_s: float
    p99_9_latency_s: float
    longest_latency_s: float
    mean_slowdown: float
    longest_slowdown: float
    within_deadline: float
    mean_wait_s: float
    makespan_s: float
    device_seconds: float
    throughput: float
    energy_j: float
    idle_energy_j: float
    cost_usd: float
    rental_usd: float
    electricity_usd: float
    mean_queue_length: float
    utilization: Mapping[str, float]

    def gap(self, bound_s: float) -> float | None:
        """How far the makespan lies above a proven bound; none if tasks failed, since then less was done."""
        if self.failed_count or bound_s <= 0.0:
            return None
        return self.makespan_s / bound_s - 1.0


def summarize(
    columns: RunColumns, fastest_s: FloatColumn | None = None, deadline_s: FloatColumn | None = None
) -> Summary:
    """Compute the metrics of a run; `fastest_s` is a task's fastest possible execution, `deadline_s` its deadline."""
    done = columns.completed
    latency = columns.latency_s[done]
    makespan = float(columns.finish_s[done].max()) if latency.size else 0.0
    p50, p95, p99, p99_9 = np.percentile(latency, (50, 95, 99, 99.9)).tolist() if latency.size else (math.nan,) * 4
    slowdown = bounded_slowdown(latency, fastest_s[done]) if fastest_s is not None else latency[:0]
    charges = Tariff(columns.node).columns(columns.cpu_s, columns.gpu_s, columns.gpu, columns.gang)
    energy, rent, electricity = (float(column.sum()) for column in charges)
    busy = columns.busy_s()
    idle = _idle_energy_j(columns, busy, makespan)
    energy, electricity = energy + idle, electricity + electricity_usd(idle, columns.node.electricity_usd_kwh)
    if columns.node.rental_of == RentalOf.NODE:
        rent = makespan * columns.node.price_usd_s
    shares = busy / makespan if makespan > 0 else np.zeros_like(busy)
    in_system = float((columns.finish_s - columns.ready_s)[done].sum())
    return Summary(
        tasks=len(columns),
        failed_count=int(np.count_nonzero(~done)),
        oom_count=int(np.count_nonzero(columns.out_of_memory)),
        rounded_count=int(np.count_nonzero(columns.rounded)),
        mean_time_s=_mean(columns.execution_s[done]),
        mean_latency_s=_mean(latency),
        p50_latency_s=p50,
        p95_latency_s=p95,
        p99_latency_s=p99,
        p99_9_latency_s=p99_9,
        longest_latency_s=_longest(latency),
        mean_slowdown=_mean(slowdown),
        longest_slowdown=_longest(slowdown),
        within_deadline=_within(columns, deadline_s),
        mean_wait_s=_mean(columns.wait_s[done]),
        makespan_s=makespan,
        device_seconds=float(busy.sum()),
        throughput=float(np.count_nonzero(done)) / makespan if makespan > 0 else 0.0,
        energy_j=energy,
        idle_energy_j=idle,
        cost_usd=electricity if Tariff(columns.node).charges_electricity else rent,
        rental_usd=rent,
        electricity_usd=electricity,
        mean_queue_length=in_system / makespan if makespan > 0 else 0.0,
        utilization=dict(zip(columns.node.device_names, shares.tolist(), strict=True)),
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else math.nan


def _within(columns: RunColumns, deadline_s: FloatColumn | None) -> float:
    due = np.zeros(len(columns), dtype=np.bool_) if deadline_s is None else ~np.isnan(deadline_s)
    if deadline_s is None or not due.any():
        return math.nan
    kept = columns.completed[due] & (columns.latency_s[due] <= deadline_s[due])
    return float(kept.mean())


def _longest(values: np.ndarray) -> float:
    return float(values.max()) if values.size else math.nan


def _idle_energy_j(columns: RunColumns, busy: np.ndarray, makespan: float) -> float:
    node = columns.node
    idle = np.array([node.cpu.idle_power_w, *(gpu.idle_power_w for gpu in node.gpus)])
    return float(((makespan - busy) * idle).sum())
