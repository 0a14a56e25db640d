"""Streams whose waits are known in closed form, and confidence intervals by batch means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from hybrid_ml_scheduler.cluster import RunColumns, run_batch
from hybrid_ml_scheduler.core import FloatColumn, HasRule, TaskBatch, stream
from hybrid_ml_scheduler.physics import Gpu, Node
from hybrid_ml_scheduler.schedulers import create

TASKS = 400_000
WARM_UP = 20_000
BATCHES = 38
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Interval:
    """A mean and how far off it may be, with 99 % confidence."""

    mean: float
    half_width: float

    def holds(self, value: float) -> bool:
        return abs(self.mean - value) <= self.half_width


def batch_means(values: FloatColumn) -> Interval:
    """Means of long consecutive pieces are nearly independent; Student's t over them gives the interval."""
    pieces = values[WARM_UP:].reshape(BATCHES, -1).mean(axis=1)
    spread = float(pieces.std(ddof=1)) / math.sqrt(BATCHES)
    return Interval(float(pieces.mean()), float(stats.t.ppf(0.5 + CONFIDENCE / 2, BATCHES - 1)) * spread)


def arrivals(seed: int, rate: float) -> FloatColumn:
    gaps: FloatColumn = stream(seed, "theory", "arrivals").exponential(1.0 / rate, TASKS)
    return np.cumsum(gaps)


def exponential_service(seed: int, mean_s: float) -> FloatColumn:
    service: FloatColumn = stream(seed, "theory", "service").exponential(mean_s, TASKS)
    return service


def tasks(arrival_s: FloatColumn, service_s: FloatColumn, duration_factor: FloatColumn | None = None) -> TaskBatch:
    """Tasks whose measured time is the service time, on the CPU and on a GPU alike."""
    return TaskBatch.from_columns(
        size=np.full(TASKS, 100.0),
        compute_intensity=np.full(TASKS, 0.5),
        memory_required=np.zeros(TASKS),
        arrival_time=arrival_s,
        cpu_time=service_s,
        gpu_time=service_s,
        duration_factor=duration_factor,
    )


def run(batch: TaskBatch, name: str, num_gpus: int = 1) -> RunColumns:
    scheduler = create(name)
    assert isinstance(scheduler, HasRule)
    return run_batch(batch, Node(gpus=(Gpu(),) * num_gpus), scheduler.rule(batch))


def erlang_c(servers: int, offered: float) -> float:
    """The chance that a task has to wait for one of several servers."""
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(terms) + last)
