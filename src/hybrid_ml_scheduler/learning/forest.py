"""The forest that predicts the time-optimal GPU share of a task, with its scaler and its record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.learning.features import FEATURES, FeatureMatrix, Scaler
from hybrid_ml_scheduler.learning.growing import grow_trees
from hybrid_ml_scheduler.learning.trees import FlatForest, flatten_forest

__all__ = ["NUM_TREES", "Engine", "ForestKind", "ForestModel", "bootstrap", "fit_forest"]

ForestKind = Literal["random_forest", "extra_trees"]
Engine = Literal["compiled", "scikit-learn"]
Floats = npt.NDArray[np.float64]

NUM_TREES = 100
LEAST_LEAF = 2
ERROR_STRIDE = 8  # the error is measured on every eighth row: walking all of them would cost as much as growing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForestModel:
    """A fitted forest; immutable, so that a race can go on with the old one while the next is trained."""

    forest: FlatForest
    scaler: Scaler
    kind: ForestKind
    samples: int
    fit_error: float
    _center: Floats = field(init=False, repr=False)
    _spread: Floats = field(init=False, repr=False)
    _raw: Floats = field(init=False, repr=False)
    _row: npt.NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        buffers = {
            "_center": np.array(self.scaler.mean),
            "_spread": np.array(self.scaler.spread),
            "_raw": np.empty(len(FEATURES)),
            "_row": np.empty(len(FEATURES), dtype=np.float32),
        }
        for name, value in buffers.items():
            object.__setattr__(self, name, value)

    def predict_one(self, features: tuple[float, ...]) -> tuple[float, float]:
        """The share for one task, and the spread of the trees' answers."""
        self._raw[:] = features
        return self.forest.predict_raw(self._raw, self._center, self._spread, self._row)

    def predict(self, features: FeatureMatrix) -> Floats:
        """The shares for many tasks."""
        return self.forest.predict(self.scaler.transform(features))

    def contributions(self, features: tuple[float, ...]) -> dict[str, float]:
        """The base value and what each feature added to it; they sum to the prediction."""
        row = self.scaler.transform(np.array([features]))[0]
        parts = self.forest.contributions(row)
        return dict(zip(("base", *FEATURES), parts.tolist(), strict=True))

    def payload(self) -> dict[str, Any]:
        """Everything as plain values and arrays, for a model file or a checkpoint."""
        return {
            "forest": self.forest.arrays(),
            "mean": self.scaler.mean,
            "spread": self.scaler.spread,
            "features": FEATURES,
            "kind": self.kind,
            "samples": self.samples,
            "fit_error": self.fit_error,
        }

    def fingerprint(self) -> str:
        """A short text that only a forest with the same trees and scales has."""
        total = hashlib.blake2b(digest_size=16)
        for name, array in sorted(self.forest.arrays().items()):
            total.update(name.encode())
            total.update(np.ascontiguousarray(array).data)  # as it lies: a copy would keep the race waiting
        total.update(repr((self.scaler.mean, self.scaler.spread)).encode())
        return total.hexdigest()

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> ForestModel:
        """The model that `payload` describes."""
        return cls(
            forest=FlatForest(**payload["forest"]),
            scaler=Scaler(mean=tuple(payload["mean"]), spread=tuple(payload["spread"])),
            kind=payload["kind"],
            samples=int(payload["samples"]),
            fit_error=float(payload["fit_error"]),
        )


def fit_forest(
    features: FeatureMatrix,
    fractions: Floats,
    rng: np.random.Generator,
    *,
    kind: ForestKind = "random_forest",
    engine: Engine = "compiled",
    num_trees: int = NUM_TREES,
    least_leaf: int = LEAST_LEAF,
) -> ForestModel:
    """Fit a forest to known best shares.

    The compiled engine searches the same splits as scikit-learn's and is several times faster;
    extra trees always come from scikit-learn.
    """
    scaler = Scaler.fit(features)
    rows = scaler.transform(features)
    if engine == "compiled" and kind == "random_forest":
        forest = grow_trees(rows, fractions, bootstrap(rng, num_trees, len(rows)), least_leaf)
    else:
        forest = flatten_forest(_scikit_learn(kind, rows, fractions, rng, num_trees, least_leaf))
    some = slice(None, None, ERROR_STRIDE)
    error = float(np.abs(forest.predict(rows[some]) - fractions[some]).mean())
    return ForestModel(forest=forest, scaler=scaler, kind=kind, samples=len(rows), fit_error=error)


def bootstrap(rng: np.random.Generator, trees: int, rows: int) -> npt.NDArray[np.int16]:
    """How often each tree draws each row, with replacement."""
    drawn = rng.integers(0, rows, (trees, rows)) + np.arange(trees)[:, None] * rows
    counts = np.bincount(drawn.ravel(), minlength=trees * rows)
    return counts.reshape(trees, rows).astype(np.int16)


def _scikit_learn(
    kind: ForestKind,
    rows: npt.NDArray[np.float32],
    fractions: Floats,
    rng: np.random.Generator,
    num_trees: int,
    least_leaf: int,
) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    make = RandomForestRegressor if kind == "random_forest" else ExtraTreesRegressor
    seed = int(rng.integers(2**31))
    model = make(n_estimators=num_trees, min_samples_leaf=least_leaf, random_state=seed, n_jobs=2)
    return model.fit(rows, fractions)
