"""The certificate: lower bounds that no schedule of this workload on this cluster can beat.

Area: give every device a weight, weights summing to 1. In a schedule of length T no device is busy for longer
than T, so the weighted busy time is at most T; and each task adds at least its cheapest weighted way of being
done. Every choice of weights is therefore a proof; the best choice is the dual optimum of the splitting LP.
Release: tasks that cannot start before t have only T - t left for their area, and for what must follow them.
Path: a chain of dependent tasks takes at least the sum of their best execution times.
Latency: see `latency_bound`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.cluster.area import Ways, best_weights, weighted_work
from hybrid_ml_scheduler.cluster.latency_bound import mean_latency_floor_s
from hybrid_ml_scheduler.cluster.paths import heads_and_tails
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.engine.start import children
from hybrid_ml_scheduler.physics.durations import Durations, durations
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.physics.optimum import best_execution_s

__all__ = ["Certificate", "area_bound_s", "capacity", "certificate"]

_ROUNDS = 3
# Sums of many rounded numbers may exceed the true sum by a few ulps; a bound must not.
_SAFETY = 1.0 - 1e-12
# A latency is a difference of moments, which loses more digits than a sum of seconds.
_LATENCY_SAFETY = 1.0 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Proven floors for one workload on one node, and which argument gives the makespan."""

    makespan_s: float
    mean_time_s: float
    mean_latency_s: float
    area_s: float
    release_s: float
    path_s: float

    @property
    def binding(self) -> str:
        """The argument that proves the makespan bound: `area`, `release` or `path`."""
        values = {"area": self.area_s, "release": self.release_s, "path": self.path_s}
        return max(values, key=lambda name: values[name])


def certificate(batch: TaskBatch, node: Node, seconds: Durations | None = None) -> Certificate:
    """Prove lower bounds on makespan, mean latency and mean execution time; durations are the true ones."""
    seconds = durations(batch, node) if seconds is None else seconds
    fastest = best_execution_s(batch, node, seconds) * batch.duration_factor
    ways = Ways.of(batch, node, seconds)
    heads, tails = heads_and_tails(batch.arrival_time, fastest, *children(batch), np.diff(batch.parent_offsets))
    work = weighted_work(ways, best_weights(ways))
    area = float(work.sum())
    release = _release_bound(ways, work, heads, tails)
    path = float(np.max(heads + fastest + tails))
    return Certificate(
        makespan_s=max(area * _SAFETY, release * _SAFETY, path * _SAFETY),
        mean_time_s=float(fastest.mean()) * _SAFETY,
        mean_latency_s=mean_latency_floor_s(work, heads, fastest, batch.arrival_time) * _LATENCY_SAFETY,
        area_s=area * _SAFETY,
        release_s=release * _SAFETY,
        path_s=path * _SAFETY,
    )


def area_bound_s(batch: TaskBatch, node: Node, seconds: Durations | None = None) -> float:
    """The area bound of the tasks as if all were there at time zero."""
    seconds = durations(batch, node) if seconds is None else seconds
    ways = Ways.of(batch, node, seconds)
    return float(weighted_work(ways, best_weights(ways)).sum()) * _SAFETY


def capacity(batch: TaskBatch, node: Node, seconds: Durations | None = None) -> float:
    """Tasks per second that the node could at most sustain: number of tasks / area bound at time zero."""
    return len(batch) / area_bound_s(batch, node, seconds)


def _release_bound(ways: Ways, work: FloatColumn, heads: FloatColumn, tails: FloatColumn) -> float:
    """The best of: start no earlier than t (sets by head) and end no later than T - q (sets by tail)."""
    late_first = np.argsort(-heads, kind="stable")
    long_first = np.argsort(-tails, kind="stable")
    best, late = 0.0, 0
    for turn in range(_ROUNDS):
        if turn > 0:  # weights that suit the binding set of late tasks may prove more than those for all tasks
            work = weighted_work(ways, best_weights(ways.take(late_first[:late])))
        by_head = np.cumsum(work[late_first]) + heads[late_first] + np.minimum.accumulate(tails[late_first])
        by_tail = np.cumsum(work[long_first]) + tails[long_first] + np.minimum.accumulate(heads[long_first])
        late = int(np.argmax(by_head)) + 1
        found = max(float(by_head[late - 1]), float(by_tail.max()))
        if found <= best:
            break
        best = found
    return best
