"""The compiled loops behind the Numba implementations of the built-in kinds."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled

__all__ = ["chain", "parse", "perceptron", "sort", "streaming"]

Floats = npt.NDArray[np.float32]


@compiled(nogil=True, fastmath=True)
def streaming(values: Floats) -> float:
    """A few operations on every element, in one pass."""
    total = np.float32(0.0)
    for value in values:
        total += math.sqrt(value * value + np.float32(1.0)) * np.float32(2.0) - value
    return float(total)


@compiled(nogil=True)
def chain(values: Floats, steps: int) -> Floats:
    """All steps of one element before the next element."""
    made = np.empty_like(values)
    for place in range(values.shape[0]):
        value = values[place]
        for _ in range(steps):
            value = value * np.float32(0.99) + np.float32(0.01)
        made[place] = value
    return made


@compiled(nogil=True)
def parse(text: npt.NDArray[np.uint8]) -> float:
    """The sum of the numbers that follow `"value": `."""
    key = (34, 118, 97, 108, 117, 101, 34, 58, 32)
    total, place, last = 0.0, 0, text.shape[0] - 9
    while place < last:
        found = True
        for offset in range(9):
            if text[place + offset] != key[offset]:
                found = False
                break
        if not found:
            place += 1
            continue
        place += 9
        number, scale, fraction = 0.0, 1.0, False
        while text[place] == 46 or 48 <= text[place] <= 57:
            if text[place] == 46:
                fraction = True
            else:
                number = number * 10.0 + (text[place] - 48)
                scale = scale * 10.0 if fraction else scale
            place += 1
        total += number / scale
    return total


@compiled(nogil=True)
def perceptron(values: Floats, weights: Floats, layers: int) -> float:
    """Layers of products with a cut at zero, in plain loops."""
    rows, width = values.shape
    present = values.copy()
    after = np.empty_like(present)
    for _ in range(layers):
        for row in range(rows):
            for column in range(width):
                after[row, column] = np.float32(0.0)
            for inner in range(width):
                factor = present[row, inner]
                for column in range(width):
                    after[row, column] += factor * weights[inner, column]
            for column in range(width):
                after[row, column] = max(after[row, column], np.float32(0.0))
        present, after = after, present
    return float(present.sum())


@compiled(nogil=True)
def sort(values: Floats) -> Floats:
    """Numba's own sort."""
    return np.sort(values)
