"""A forest of corrections: how far seconds lie from what is believed, given kind, nominal seconds and features.

It stands on the learned estimator, which already knows what each kind does on each type of device; the forest finds
what is left (a kind that suffers from large tasks, a device that stalls on much memory). Its answer is a logarithm, is
the mean of its trees, and counts only as far as it helped on observations that it was not grown on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.learning.features import FEATURES, LEAST_MEMORY_MB, feature_row
from hybrid_ml_scheduler.learning.forest import NUM_TREES, bootstrap
from hybrid_ml_scheduler.learning.growing import grow_trees
from hybrid_ml_scheduler.learning.trees import FlatForest, Steps, mean_and_spread

__all__ = ["TIME_FEATURES", "TimeForest", "WalkedForest", "correct", "fit_time_forest", "time_row", "walkable"]

TIME_FEATURES = (*FEATURES, "kind", "log_nominal_s", "device_type")
LEAST_LEAF = 10
HELD_OUT = 0.2
LEAST_GAIN = 0.8  # of the error without a forest, from which on one counts at all
SHARES = (0.0, 0.25, 0.5, 1.0)
MOST_CORRECTION = 1.0
LEAST_SECONDS = 1e-12
Singles = npt.NDArray[np.float32]
# The share that counts, roots, steps, limits and values of a forest, as compiled code takes them.
WalkedForest = tuple[float, npt.NDArray[np.int32], Steps, Singles, FloatColumn]
_NO_TREES, _NO_VALUES = np.empty(0, dtype=np.int32), np.empty(0)
_NO_STEPS = np.empty((0, 2), dtype=np.uint32)
_NO_LIMITS = _NO_STEPS.view(np.float32)


def time_row(
    size: float, intensity: float, memory_mb: float, kind: int, nominal_s: float, device_type: int
) -> tuple[float, ...]:
    """The features of one task on one type of device, in the order of `TIME_FEATURES`."""
    return (
        *feature_row(size, intensity, memory_mb),
        float(kind),
        math.log(max(nominal_s, LEAST_SECONDS)),
        float(device_type),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeForest:
    """A fitted forest; `share` of its answer counts. Errors are mean squares on held-out observations."""

    forest: FlatForest
    share: float
    samples: int
    error: float
    plain_error: float

    def predict(self, rows: FloatColumn) -> FloatColumn:
        """The corrections for many rows, as logarithms."""
        found = self.share * self.forest.predict(rows.astype(np.float32))
        return np.clip(found, -MOST_CORRECTION, MOST_CORRECTION)

    @property
    def fit_error(self) -> float:
        """The error that is told of a model: root mean square of what is left, as a share of the seconds."""
        return math.sqrt(self.error)

    def payload(self) -> dict[str, Any]:
        """Everything as plain values and arrays, for a checkpoint or a model file."""
        return {
            "forest": self.forest.arrays(),
            "features": TIME_FEATURES,
            "share": self.share,
            "samples": self.samples,
            "error": self.error,
            "plain_error": self.plain_error,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> TimeForest:
        """The model that `payload` describes."""
        return cls(
            forest=FlatForest(**payload["forest"]),
            share=float(payload["share"]),
            samples=int(payload["samples"]),
            error=float(payload["error"]),
            plain_error=float(payload["plain_error"]),
        )


def fit_time_forest(rows: FloatColumn, logs: FloatColumn, rng: np.random.Generator) -> TimeForest:
    """Grow a forest on the earlier observations and see on the later ones how far to trust it.

    It learns differences between tasks: what all have in common (a mean of logarithms lies below the logarithm of a
    mean) is left to the estimator below it.
    """
    count, logs = len(rows), logs - logs.mean()
    kept = max(2, count - int(HELD_OUT * count))
    single = rows.astype(np.float32)
    forest = grow_trees(single[:kept], logs[:kept], bootstrap(rng, NUM_TREES, kept), LEAST_LEAF)
    later, told = logs[kept:], forest.predict(single[kept:])
    errors = [float(np.mean((later - share * told) ** 2)) if len(later) else 0.0 for share in SHARES]
    best = errors.index(min(errors))
    best = best if errors[best] < LEAST_GAIN * errors[0] else 0
    return TimeForest(forest=forest, share=SHARES[best], samples=count, error=errors[best], plain_error=errors[0])


def walkable(model: TimeForest | None) -> WalkedForest:
    """What the compiled correction is told of a forest; of one that does not count, or of none, that it does not."""
    if model is None or model.share == 0.0:
        return 0.0, _NO_TREES, _NO_STEPS, _NO_LIMITS, _NO_VALUES
    forest = model.forest
    return model.share, forest.roots, forest.steps, forest.limits, forest.value


@compiled(nogil=True)
def correct(
    size: float, intensity: float, memory_mb: float, kind: int, forest: WalkedForest, seconds: FloatColumn, types: int
) -> None:
    """Multiply the believed seconds (CPU, then types of GPU, then the same paged) as the forest says.

    The features are those of `time_row`, in its order.
    """
    share, roots, steps, limits, value = forest
    row = np.empty(8, dtype=np.float32)
    row[0], row[1], row[2] = size, intensity, memory_mb
    row[3], row[4] = memory_mb / size, size * math.sqrt(size) / max(memory_mb, LEAST_MEMORY_MB)
    row[5] = kind
    for device in range(types):
        row[6], row[7] = math.log(max(seconds[device], LEAST_SECONDS)), device
        told = share * mean_and_spread(row, roots, steps, limits, value)[0]
        factor = math.exp(min(MOST_CORRECTION, max(-MOST_CORRECTION, told)))
        seconds[device] *= factor
        if device > 0 and seconds.shape[0] > types:
            seconds[types + device - 1] *= factor
