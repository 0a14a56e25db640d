"""What `rl_hold` has learned, and its file: settings, and weights that say from features which of them will do well.

A tuned strategy is the same file with settings of its own. It is versioned data, never a pickle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.learning.files import json_model
from hybrid_ml_scheduler.physics.node import WHOLE
from hybrid_ml_scheduler.schedulers.holding.settings import PLAIN, History, Setting

__all__ = [
    "EXPANDED",
    "FEATURES",
    "HoldModel",
    "expand",
    "hedge",
    "hold_document",
    "hold_features",
    "load_hold",
    "shared_s",
]

FORMAT = "hybrid-ml-scheduler/rl-hold"
VERSION = 3
FEATURES = 9
_HOPELESS = math.log(3.0)  # what a setting counts at most, and if its replay was given up
_CAUTION = 2.0
_KNOWN = 2.5  # so many standard deviations from the centre are known ground
EXPANDED = 1 + FEATURES + FEATURES * (FEATURES + 1) // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HoldModel:
    """Settings, the features' centre and scale, one row of weights a setting; `patience`, `aging` bound waiting."""

    settings: tuple[Setting, ...]
    weights: FloatColumn
    centre: FloatColumn
    scale: FloatColumn
    patience: float = 0.0
    aging: float = 0.0
    record: Mapping[str, Any] = field(default_factory=dict)

    def trust(self, features: FloatColumn) -> float:
        """How much the expectation is worth here: 1 among workloads like those it was learned on, less outside."""
        far = np.maximum(np.abs((features - self.centre) / self.scale) - _KNOWN, 0.0)
        return 1.0 / (1.0 + float((far * far).sum()))

    def prior(self, features: FloatColumn) -> FloatColumn:
        """What to expect of every setting, as `hedge` counts it."""
        return self.weights @ expand((features - self.centre) / self.scale)


def hedge(values: FloatColumn, settings: tuple[Setting, ...]) -> FloatColumn:
    """By how much each setting is worse than the best, as a logarithm; what is worse than a plain rule counts more."""
    logs = np.log(np.maximum(values, 1e-300))
    losses = np.minimum(logs - logs.min(), _HOPELESS)
    plain = [place for place, setting in enumerate(settings) if setting in PLAIN]
    if not plain:
        return losses
    behind: FloatColumn = losses + _CAUTION * np.maximum(losses - losses[plain].min(), 0.0)
    return behind


def expand(features: FloatColumn) -> FloatColumn:
    """The features with all their products, bounded: far from all that was learned nothing is claimed."""
    bounded = np.clip(features, -3.0, 3.0)
    products = [bounded[i] * bounded[j] for i in range(FEATURES) for j in range(i, FEATURES)]
    return np.array([1.0, *bounded, *products])


def shared_s(tasks: BatchTerms) -> FloatColumn:
    """Seconds of every task if all devices shared it: what it costs the node."""
    best = tasks.gpu_s.min(axis=1)
    seconds: FloatColumn = 1.0 / (1.0 / tasks.cpu_s + len(tasks.gpu_kind) / best)
    return seconds


def hold_features(history: History) -> FloatColumn:
    """All without units: load, spread of sizes, gain from GPUs and its spread, number of GPUs, weight of the tail,
    share of tasks that must not be cut, how crowded it is, how far the CPU is ahead.
    """
    tasks, size_s = history.tasks, history.size_s
    gpus, best = len(tasks.gpu_kind), tasks.gpu_s.min(axis=1)
    span = max(float(history.ready_s[-1] - history.ready_s[0]), 1e-12)
    load = float(shared_s(tasks).sum()) / span
    gains, mean = np.log(tasks.cpu_s / best), float(size_s.mean())
    spread = math.log1p(float(size_s.std()) / mean)
    tail = math.log(max(float(np.quantile(size_s, 0.9)) / mean, 1e-3))
    whole = float((tasks.memory_rule >= WHOLE).mean())
    gain = float(gains.mean())
    crowded = min(load, 1.4) ** 6  # near its capacity a node behaves unlike one with room to spare
    return np.array(
        [min(load, 3.0), spread, gain, float(gains.std()), math.log(gpus), tail, whole, crowded, min(gain, 0.0)]
    )


def hold_document(model: HoldModel) -> dict[str, Any]:
    """The model as a JSON document; a limit that is none is null."""
    settings = [[None if isinstance(v, float) and math.isinf(v) else v for v in one] for one in model.settings]
    return {
        "format": FORMAT,
        "version": VERSION,
        "record": dict(model.record),
        "patience": model.patience,
        "aging": model.aging,
        "settings": settings,
        "centre": model.centre.tolist(),
        "scale": model.scale.tolist(),
        "weights": model.weights.tolist(),
    }


def load_hold(path: str | None = None) -> HoldModel:
    """Read a model (the shipped one by default), or refuse the file with one sentence."""
    place = Path(path) if path else files("hybrid_ml_scheduler.schedulers") / "weights" / "rl_hold.json"
    document = json_model(place, FORMAT, VERSION)
    settings = _settings(place, document.get("settings"))
    patience: Any = document.get("patience")
    aging: Any = document.get("aging")
    for what, value in (("a patience", patience), ("an aging", aging)):
        if not _is_number(value) or value < 0.0:
            raise ModelError(f"{place} does not hold {what} of at least 0.")
    scale = _numbers(place, document.get("scale"), (FEATURES,), "scales")
    if not np.all(scale > 0.0):
        raise ModelError(f"{place} holds a scale that is not above 0.")
    record = document.get("record")
    return HoldModel(
        settings=settings,
        weights=_numbers(place, document.get("weights"), (len(settings), EXPANDED), "weights"),
        centre=_numbers(place, document.get("centre"), (FEATURES,), "centres"),
        scale=scale,
        patience=float(patience),
        aging=float(aging),
        record=record if isinstance(record, dict) else {},
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _settings(place: Any, rows: Any) -> tuple[Setting, ...]:
    found = []
    for row in rows if isinstance(rows, list) else []:
        sound = isinstance(row, list) and len(row) == len(Setting._fields) and isinstance(row[0], bool)
        if not sound or not all(value is None or _is_number(value) for value in row[1:]):
            raise ModelError(f"{place} holds a setting that is none: {row!r}.")
        numbers = [math.inf if value is None else float(value) for value in row[1:]]
        one = Setting(row[0], *numbers)
        odd = not math.isfinite(one.price + one.affinity + one.patience)
        odd = odd or min(one.price, one.slowest, one.affinity, one.patience) < 0.0 or one.soonest not in (0.0, 1.0)
        if odd or min(one.low, one.ratio, one.cpu) <= 0.0 or 0.0 < one.slowest < 1.0:
            raise ModelError(f"{place} holds a setting outside its range: {row!r}.")
        found.append(one)
    if not found:
        raise ModelError(f"{place} holds no settings.")
    return tuple(found)


def _numbers(place: Any, values: Any, shape: tuple[int, ...], what: str) -> FloatColumn:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.empty(0)
    if column.shape != shape or not np.all(np.isfinite(column)):
        raise ModelError(f"{place} does not hold {' x '.join(map(str, shape))} finite {what}.")
    return column
