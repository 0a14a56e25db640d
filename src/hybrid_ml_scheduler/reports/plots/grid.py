"""The axes of a grid of plans: numbers where they lie, names side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.reports.plots.axes import plain_log

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Scale", "point_words", "scale_of", "value_words"]

_LOG_FROM = 20.0
_MOST_TICKS = 8
_MOST_LETTERS = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One parameter as an axis: its values in order, and whether they are numbers."""

    name: str
    values: tuple[Any, ...]
    is_numeric: bool

    def places(self, column: pd.Series[Any]) -> np.ndarray:
        """Where the values of a column lie on the axis."""
        if self.is_numeric:
            return column.to_numpy(dtype=float)
        return np.array([self.steps(value) for value in column], dtype=float)

    def steps(self, value: Any) -> int:
        """The place of a value among all, counted from 0; a missing one equals a missing one."""
        return next(place for place, own in enumerate(self.values) if own == value or (own != own and value != value))

    def beside(self, places: np.ndarray, share: float) -> np.ndarray:
        """The places moved a little, so that the marks of several strategies do not hide one another."""
        if not self.is_numeric:
            return places + 0.6 * share
        low, high = float(self.values[0]), float(self.values[-1])
        if self.is_logarithmic:
            return np.asarray(places * (high / low) ** (0.04 * share))
        return places + 0.04 * share * ((high - low) or 1.0)

    @property
    def is_logarithmic(self) -> bool:
        """Whether the numbers span so much that equal ratios should be equally far apart."""
        return self.is_numeric and self.values[0] > 0 and self.values[-1] >= _LOG_FROM * self.values[0]

    def apply(self, axes: Axes, *, narrow: bool = False) -> None:
        """Write the values at a horizontal axis, as many as there is room for."""
        words = [value_words(value) for value in self.values]
        if self.is_numeric:
            self._apply_numbers(axes, words, most=_MOST_TICKS // 2 if narrow else _MOST_TICKS)
            return
        axes.set_xticks(range(len(words)), words)
        axes.set_xlim(-0.5, len(words) - 0.5)
        if sum(map(len, words)) > (18 if narrow else 34):
            axes.tick_params(axis="x", labelrotation=30)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")

    def _apply_numbers(self, axes: Axes, words: list[str], most: int) -> None:
        if self.is_logarithmic:
            plain_log(axes, "x")
        if len(words) <= most:
            axes.set_xticks([float(value) for value in self.values], words)
            axes.set_xticks([], minor=True)
        elif not self.is_logarithmic:
            axes.locator_params(axis="x", nbins=most)


def scale_of(column: pd.Series[Any]) -> Scale:
    """The axis of a swept parameter: numbers in their order, anything else in the order of the grid."""
    import pandas as pd

    values = list(column.drop_duplicates())
    is_numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    is_numeric = is_numeric and not column.isna().any()
    return Scale(name=str(column.name), values=tuple(sorted(values) if is_numeric else values), is_numeric=is_numeric)


def value_words(value: Any) -> str:
    """A value of the grid in few letters: of a path its name, of a long text its beginning."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.number)):
        return "–" if value != value else f"{value:g}"
    text = "–" if value is None else str(value)
    if text.startswith(("[", "{")):  # stored as JSON: the signs around the words say nothing here
        text = re.sub(r'[\[\]"{}]', "", text)
    elif "/" in text:
        text = PurePath(text).name
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def point_words(point: Mapping[str, Any]) -> str:
    """A point of the grid, with the last part of each key, a line for each."""
    return "\n".join(f"{key.rpartition('.')[2]} = {value_words(value)}" for key, value in point.items())
