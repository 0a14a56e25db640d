"""Growing a random forest in compiled code: exact best splits on presorted features, as scikit-learn searches them.

Each tree takes a bootstrap sample as a count per row. A node keeps, for every feature, its rows in sorted
order; a split scans those once and partitions them stably, so nothing is ever sorted again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.learning.trees import FlatForest

__all__ = ["grow_trees"]

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int16]

CLOSEST_VALUES = np.float32(1e-7)  # values nearer than this are not split, as in scikit-learn
LEAST_VARIANCE = float(np.finfo(np.float64).eps)


@compiled(nogil=True)
def _best_split(
    order: Ints,
    begin: int,
    end: int,
    columns: Singles,
    weighted: Floats,
    count: Counts,
    weight: int,
    total: float,
    least_leaf: int,
    inverse: Floats,
) -> tuple[int, int, float]:
    """The feature, the place in its order and the threshold that reduce the squared error most.

    `weighted` is target x count and `inverse[w]` is 1 / w: weights are whole numbers, so nothing is divided here.
    """
    best_gain, best_feature, best_place = -np.inf, -1, 0
    for feature in range(order.shape[0]):
        left_sum, left_weight = 0.0, 0
        row = order[feature, begin]
        for place in range(begin + 1, end):
            left_sum += weighted[row]
            left_weight += count[row]
            before, row = row, order[feature, place]
            right_sum, right_weight = total - left_sum, weight - left_weight
            gain = left_sum * left_sum * inverse[left_weight] + right_sum * right_sum * inverse[right_weight]
            if gain > best_gain and min(left_weight, right_weight) >= least_leaf:
                apart = columns[feature, row] > columns[feature, before] + CLOSEST_VALUES
                if apart:
                    best_gain, best_feature, best_place = gain, feature, place
    if best_feature < 0:
        return -1, 0, 0.0
    low = np.float64(columns[best_feature, order[best_feature, best_place - 1]])
    high = np.float64(columns[best_feature, order[best_feature, best_place]])
    middle = low / 2.0 + high / 2.0
    return best_feature, best_place, low if middle == high else middle


@compiled(nogil=True)
def _partition(order: Ints, begin: int, end: int, feature: int, place: int, goes_left: Ints, spare: Ints) -> None:
    """Send the rows before `place` in the order of `feature` to the left, keeping every order sorted."""
    for index in range(begin, end):
        goes_left[order[feature, index]] = 1 if index < place else 0
    for other in range(order.shape[0]):
        if other == feature:
            continue
        write, kept = begin, 0
        for index in range(begin, end):
            # Without a branch: which way a row goes is a coin toss that no processor can foresee.
            row = order[other, index]
            step = goes_left[row]
            order[other, write] = row
            spare[kept] = row
            write += step
            kept += 1 - step
        for index in range(kept):
            order[other, write + index] = spare[index]


@compiled(nogil=True)
def _sums(
    order: Ints, begin: int, end: int, target: Floats, weighted: Floats, count: Counts
) -> tuple[int, float, float]:
    weight, total, squares = 0, 0.0, 0.0
    for index in range(begin, end):
        row = order[0, index]
        weight += count[row]
        total += weighted[row]
        squares += target[row] * weighted[row]
    return weight, total, squares


@compiled(nogil=True)
def _single_below(threshold: float) -> np.float32:
    """The largest single-precision number that is not above the threshold."""
    single = np.float32(threshold)
    if np.float64(single) > threshold:
        single = np.nextafter(single, np.float32(-np.inf))
    return single


@compiled(nogil=True)
def _grow(
    columns: Singles,
    target: Floats,
    sorted_rows: Ints,
    counts: Counts,
    least_leaf: int,
    feature: Ints,
    threshold: Singles,
    left: Ints,
    value: Floats,
    roots: Ints,
) -> int:
    """Grow all trees into the given arrays; returns how many nodes were used."""
    num_features, num_rows = columns.shape
    order = np.empty((num_features, num_rows), dtype=np.int32)
    goes_left, spare = np.empty(num_rows, dtype=np.int32), np.empty(num_rows, dtype=np.int32)
    begins, ends = np.empty(2 * num_rows, dtype=np.int32), np.empty(2 * num_rows, dtype=np.int32)
    weighted = np.empty(num_rows)
    inverse = 1.0 / np.maximum(np.arange(counts.sum(axis=1).max() + 1), 1)
    used = 0
    for tree in range(counts.shape[0]):
        count = counts[tree]
        for row in range(num_rows):
            weighted[row] = target[row] * count[row]
        for index in range(num_features):
            size = 0
            for row in sorted_rows[index]:
                if count[row] > 0:
                    order[index, size] = row
                    size += 1
        root, next_free = used, used + 1
        roots[tree] = root
        begins[0], ends[0] = 0, size
        node = root
        while node < next_free:
            begin, end = begins[node - root], ends[node - root]
            weight, total, squares = _sums(order, begin, end, target, weighted, count)
            value[node] = total / weight
            feature[node], threshold[node], left[node] = -1, np.float32(0.0), 0
            impure = squares / weight - value[node] * value[node] > LEAST_VARIANCE
            if impure and weight >= 2 * least_leaf and end - begin >= 2:
                best, place, middle = _best_split(
                    order, begin, end, columns, weighted, count, weight, total, least_leaf, inverse
                )
                if best >= 0:
                    _partition(order, begin, end, best, place, goes_left, spare)
                    feature[node], threshold[node], left[node] = best, _single_below(middle), next_free
                    begins[next_free - root], ends[next_free - root] = begin, place
                    begins[next_free + 1 - root], ends[next_free + 1 - root] = place, end
                    next_free += 2
            node += 1
        used = next_free
    return used


def grow_trees(rows: Singles, target: Floats, counts: Counts, least_leaf: int = 1) -> FlatForest:
    """Grow one tree for each row of `counts` (how often a tree drew each training row)."""
    columns = np.ascontiguousarray(rows.T)
    sorted_rows = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    most_leaves = min(len(rows), int(counts.sum(axis=1).max()) // least_leaf + 1)
    room = counts.shape[0] * 2 * most_leaves
    feature, left = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    threshold, value = np.empty(room, dtype=np.float32), np.empty(room)
    roots = np.empty(counts.shape[0], dtype=np.int32)
    used = _grow(columns, target, sorted_rows, counts, least_leaf, feature, threshold, left, value, roots)
    return FlatForest.of(
        roots=roots,
        feature=feature[:used],
        threshold=threshold[:used],
        left=left[:used],
        value=value[:used],
        num_features=rows.shape[1],
    )
