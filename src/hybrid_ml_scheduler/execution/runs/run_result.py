"""One run of a stream, measured or modelled, as columns in the order of the stream."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["RunResult", "half_width"]

# Two-sided 95 % points of Student's t for 1 to 10 degrees of freedom, then of the normal law.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResult:
    """When and where every task ran; `place` 0 is the CPU. `source` is `measured` or `modelled`."""

    strategy: str
    source: str
    place_names: tuple[str, ...]
    arrival_s: FloatColumn
    start_s: FloatColumn
    finish_s: FloatColumn
    place: IntColumn
    worker: IntColumn

    @property
    def makespan_s(self) -> float:
        """From the first arrival to the last finish."""
        return float(np.nanmax(self.finish_s) - self.arrival_s[0])

    @property
    def unfinished(self) -> int:
        """Tasks that failed, or never ran because the run was stopped."""
        return int(np.isnan(self.finish_s).sum())

    @property
    def latency_s(self) -> FloatColumn:
        """From planned arrival to finish, task by task."""
        latency: FloatColumn = self.finish_s - self.arrival_s
        return latency

    def summary(self) -> dict[str, float]:
        """The headline figures."""
        ended = np.isfinite(self.finish_s)
        latency, place = self.latency_s[ended], self.place[ended]
        busy = self.finish_s - self.start_s
        return {
            "makespan_s": self.makespan_s,
            "mean_latency_s": float(latency.mean()),
            "p95_latency_s": float(np.percentile(latency, 95)),
            "device_seconds": float(np.nansum(busy)),
            "tasks": float(len(self.finish_s)),
            "failed": float(self.unfinished),
            **{f"share_{name}": float((place == index).mean()) for index, name in enumerate(self.place_names)},
        }


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean."""
    point = _STUDENT[len(values) - 2] if len(values) - 2 < len(_STUDENT) else 1.96
    return point * statistics.stdev(values) / math.sqrt(len(values))
