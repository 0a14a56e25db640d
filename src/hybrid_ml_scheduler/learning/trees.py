"""Regression trees as flat arrays: walked by compiled code, with the very answers of scikit-learn.

A node holds a feature, a threshold and the index of its left child; the right child is the next node.
A leaf has feature -1. Thresholds are rounded down to single precision, which changes no comparison,
because features are single precision as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled

__all__ = ["FlatForest", "Steps", "flatten_forest", "mean_and_spread"]

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

LANES = 10  # trees that are walked at once
# One step of a walk in eight bytes: the left child and the feature in one number, then the threshold. A leaf is its own
# left child and has no end to the left, so that walking on from it stays there and no step needs a branch.
_FEATURE_BITS = 5
_SHIFT = np.uint32(_FEATURE_BITS)
_FEATURE = np.uint32(2**_FEATURE_BITS - 1)
Steps = npt.NDArray[np.uint32]


def _steps(nodes: Ints) -> Steps:
    """The nodes in the form that is walked."""
    is_leaf = nodes[:, 0] < 0
    left = np.where(is_leaf, np.arange(len(nodes)), nodes[:, 1])
    steps = np.empty((len(nodes), 2), dtype=np.uint32)
    steps[:, 0] = (left << _FEATURE_BITS) | np.where(is_leaf, 0, nodes[:, 0])
    steps.view(np.float32)[:, 1] = np.where(is_leaf, np.inf, nodes.view(np.float32)[:, 2])
    return steps


@compiled(nogil=True, inline="always")
def _leaves(row: Singles, roots: Ints, begin: int, steps: Steps, limits: Singles, at: Steps) -> None:
    """Walk `LANES` trees side by side, so that the memory latency of one hides behind the others.

    Where fewer are left the last one is walked again: loops of a fixed length are faster than that costs.
    """
    last = roots.shape[0] - 1
    for lane in range(LANES):
        at[lane] = roots[min(begin + lane, last)]
    moved = np.uint32(1)
    while moved != 0:
        moved = np.uint32(0)
        for lane in range(LANES):
            node = at[lane]
            step = steps[node, 0]
            following = (step >> _SHIFT) + np.uint32(row[step & _FEATURE] > limits[node, 1])
            moved |= following ^ node
            at[lane] = following


@compiled(nogil=True)
def mean_and_spread(row: Singles, roots: Ints, steps: Steps, limits: Singles, value: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the trees' answers; the sum runs in the order of the trees."""
    total, squares, count = 0.0, 0.0, roots.shape[0]
    at = np.empty(LANES, dtype=np.uint32)
    for begin in range(0, count, LANES):
        _leaves(row, roots, begin, steps, limits, at)
        for lane in range(min(LANES, count - begin)):
            found = value[at[lane]]
            total += found
            squares += found * found
    mean = total / count
    return mean, np.sqrt(max(0.0, squares / count - mean * mean))


@compiled(nogil=True)
def _raw_mean_and_spread(
    raw: Floats,
    center: Floats,
    spread: Floats,
    row: Singles,
    roots: Ints,
    steps: Steps,
    limits: Singles,
    value: Floats,
) -> tuple[float, float]:
    for index in range(raw.shape[0]):
        row[index] = np.float32((raw[index] - center[index]) / spread[index])
    return mean_and_spread(row, roots, steps, limits, value)


@compiled(nogil=True)
def _means(rows: Singles, roots: Ints, steps: Steps, limits: Singles, value: Floats) -> Floats:
    means = np.empty(rows.shape[0])
    for index in range(rows.shape[0]):
        means[index] = mean_and_spread(rows[index], roots, steps, limits, value)[0]
    return means


@compiled(nogil=True)
def _contributions(row: Singles, roots: Ints, links: Ints, splits: Singles, value: Floats) -> Floats:
    """The base value, then what each feature added to it along the paths, averaged over the trees."""
    parts = np.zeros(row.shape[0] + 1)
    for tree in range(roots.shape[0]):
        node = roots[tree]
        parts[0] += value[node]
        while links[node, 0] >= 0:
            feature = links[node, 0]
            step = 0 if row[feature] <= splits[node, 2] else 1
            child = links[node, 1] + step
            parts[feature + 1] += value[child] - value[node]
            node = child
    return parts / roots.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlatForest:
    """All trees of a forest, one after the other; `roots[t]` is the first node of tree t."""

    roots: Ints
    nodes: Ints
    value: Floats
    num_features: int
    steps: Steps = field(init=False, repr=False)
    limits: Singles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        steps = _steps(self.nodes)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "limits", steps.view(np.float32))

    @classmethod
    def of(
        cls, *, roots: Ints, feature: Ints, threshold: Singles, left: Ints, value: Floats, num_features: int
    ) -> FlatForest:
        """Pack the columns of all nodes, so that one look at a node touches one cache line."""
        nodes = np.zeros((len(feature), 4), dtype=np.int32)
        nodes[:, 0], nodes[:, 1] = feature, left
        nodes.view(np.float32)[:, 2] = threshold
        return cls(roots=roots, nodes=nodes, value=value.astype(np.float64), num_features=num_features)

    @property
    def splits(self) -> Singles:
        """The packed nodes read as single precision; column 2 holds the thresholds."""
        return self.nodes.view(np.float32)

    @property
    def num_trees(self) -> int:
        """How many trees there are."""
        return len(self.roots)

    def predict(self, rows: Singles) -> Floats:
        """The forest's answer for many rows of scaled features."""
        means: Floats = _means(rows, self.roots, self.steps, self.limits, self.value)
        return means

    def predict_raw(self, raw: Floats, center: Floats, spread: Floats, scratch: Singles) -> tuple[float, float]:
        """Mean and spread of the trees for one row, scaled on the way into `scratch`."""
        answer: tuple[float, float] = _raw_mean_and_spread(
            raw, center, spread, scratch, self.roots, self.steps, self.limits, self.value
        )
        return answer

    def contributions(self, row: Singles) -> Floats:
        """The mean of all training answers, then the part of each feature; they sum to the prediction."""
        parts: Floats = _contributions(row, self.roots, self.nodes, self.splits, self.value)
        return parts

    def arrays(self) -> dict[str, Any]:
        """The arrays under the names of the fields, for a model file."""
        names = ("roots", "nodes", "value", "num_features")
        return {name: getattr(self, name) for name in names}


def _rounded_down(threshold: Floats) -> Singles:
    """The largest single-precision numbers that are not above the thresholds."""
    single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single


def _sibling_order(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Old node ids in an order that places each right child just behind the left one."""
    order = np.empty(len(left), dtype=np.int64)
    order[0] = 0
    taken, place = 1, 0
    while place < taken:
        node = order[place]
        if left[node] >= 0:
            order[taken], order[taken + 1] = left[node], right[node]
            taken += 2
        place += 1
    return order


def flatten_forest(model: Any) -> FlatForest:
    """Flatten a fitted scikit-learn forest of regression trees."""
    roots, features, thresholds, lefts, values = [], [], [], [], []
    offset = 0
    for estimator in model.estimators_:
        tree = estimator.tree_
        order = _sibling_order(tree.children_left, tree.children_right)
        new_place = np.empty(len(order), dtype=np.int64)
        new_place[order] = np.arange(len(order))
        is_leaf = tree.children_left[order] < 0
        roots.append(offset)
        features.append(np.where(is_leaf, -1, tree.feature[order]))
        thresholds.append(np.where(is_leaf, 0.0, tree.threshold[order]))
        lefts.append(np.where(is_leaf, 0, new_place[tree.children_left[order]] + offset))
        values.append(tree.value[order, 0, 0])
        offset += len(order)
    return FlatForest.of(
        roots=np.array(roots, dtype=np.int32),
        feature=np.concatenate(features).astype(np.int32),
        threshold=_rounded_down(np.concatenate(thresholds)),
        left=np.concatenate(lefts).astype(np.int32),
        value=np.concatenate(values),
        num_features=int(model.n_features_in_),
    )
