"""The learned estimator: seconds of a kind of work on a type of device, from what happened, for model and real runs.

With nominal seconds (the formula, a user's request) it learns how far they are off; without, it learns the seconds
themselves and how they grow with size. The mathematics is in `belief`; here are names, growth and words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.learning import belief
from hybrid_ml_scheduler.learning.belief import mean_factors

__all__ = [
    "FIRST_KINDS",
    "MEASURED_PRIOR",
    "NOMINAL_PRIOR",
    "UNSCALED_PRIOR",
    "Belief",
    "DurationModel",
    "belief_sentence",
    "prior_of",
]

FIRST_KINDS = 16
LEAST_SECONDS = 1e-9
VERSION = 1


def prior_of(
    *,
    type_spread: float,
    cell_spread: float,
    kind_spread: float,
    noise: float,
    slope: float = 0.0,
    slope_spread: float = 0.0,
    memory: float = 400.0,
    watchful: bool = True,
) -> FloatColumn:
    """A prior under which an unknown cell is expected to take exactly its nominal seconds (spreads are of logarithms).

    `memory` runs of a cell count in full; older ones fade. Without `watchful` nothing is forgotten at a drift.
    """
    variances = [spread * spread for spread in (type_spread, cell_spread, kind_spread, noise)]
    mean = -0.5 * min(belief.MOST_CORRECTION, sum(variances))
    return np.array([mean, *variances, slope, slope_spread * slope_spread, memory, float(watchful), 0.0, 0.0])


NOMINAL_PRIOR = prior_of(type_spread=0.5, cell_spread=0.45, kind_spread=0.2, noise=0.2)
MEASURED_PRIOR = prior_of(type_spread=10.0, cell_spread=1.0, kind_spread=3.0, noise=0.3, slope=1.0, slope_spread=1.0)
# Nominal seconds without a scale: kinds of a trace differ by factors, and so do tasks of one kind.
UNSCALED_PRIOR = prior_of(type_spread=0.5, cell_spread=0.45, kind_spread=1.5, noise=0.5)
UNSCALED_PRIOR[belief.COMMON_VARIANCE] = 100.0


class Belief(NamedTuple):
    """Expected seconds, their relative spread, the ends of the 90 % interval, and the runs they rest on."""

    seconds: float
    spread: float
    low_s: float
    high_s: float
    runs: int


class DurationModel:
    """Learned seconds for every (kind, device type); device types are numbered from 0, the CPU by custom first."""

    def __init__(self, num_types: int, prior: FloatColumn = NOMINAL_PRIOR, *, kinds: Sequence[str] = ()) -> None:
        self.prior = np.ascontiguousarray(prior, dtype=np.float64)
        self.kinds: dict[str, int] = {}
        self.cells = np.zeros((max(FIRST_KINDS, len(kinds) + 1), num_types, belief.CELL))
        self.types = belief.fresh_types(num_types, self.prior)
        self.shared = belief.fresh_shared(self.prior)
        self.drifts = 0
        for name in kinds:
            self.row(name)

    @classmethod
    def of_nominal(cls, num_types: int, *, kinds: Sequence[str] = (), forgets: bool = True) -> DurationModel:
        """A model that corrects nominal seconds; one that does not forget is for comparison."""
        prior = NOMINAL_PRIOR.copy()
        prior[belief.WATCHFUL] = float(forgets)
        return cls(num_types, prior, kinds=kinds)

    @classmethod
    def of_unscaled(cls, num_types: int, *, kinds: Sequence[str] = (), forgets: bool = True) -> DurationModel:
        """A model whose nominal seconds are a guess for all tasks alike: it learns the scale, too."""
        prior = UNSCALED_PRIOR.copy()
        prior[belief.WATCHFUL] = float(forgets)
        return cls(num_types, prior, kinds=kinds)

    @classmethod
    def of_means(cls, num_types: int, *, kinds: Sequence[str] = ()) -> DurationModel:
        """The same without any inference: the mean of the kind's tasks that finished, else of all tasks that did."""
        prior = UNSCALED_PRIOR.copy()
        prior[belief.PLAIN] = 1.0
        return cls(num_types, prior, kinds=kinds)

    @classmethod
    def of_measured(cls, num_types: int) -> DurationModel:
        """A model without nominal seconds: it learns absolute times, with size as a feature."""
        return cls(num_types, MEASURED_PRIOR)

    @property
    def num_types(self) -> int:
        """How many types of device there are."""
        return self.types.shape[0]

    def row(self, kind: str) -> int:
        """The row of a kind; a new one gets the next row, and behind the last there is always an empty one."""
        found = self.kinds.get(kind)
        if found is None:
            found = self.kinds[kind] = len(self.kinds)
            self.reserve(found + 1)
        return found

    def reserve(self, kinds: int) -> None:
        """Make room for so many kinds, and for the empty row behind them."""
        while kinds + 1 > self.cells.shape[0]:
            self.cells = np.concatenate([self.cells, np.zeros_like(self.cells)])

    def place(self, kind: str) -> int:
        """Where a kind is looked up: asking about one that was never seen leaves no trace."""
        return self.kinds.get(kind, len(self.kinds))

    def observe(
        self, kind: str, device_type: int, measured_s: float, nominal_s: float = 1.0, size: float = 1.0
    ) -> bool:
        """Learn from a task that finished; says whether its cell was found to have drifted."""
        ratio = max(measured_s, LEAST_SECONDS) / max(nominal_s, LEAST_SECONDS)
        drifted = bool(
            belief.learn(
                self.row(kind), device_type, ratio, math.log(size), self.cells, self.types, self.shared, self.prior
            )
        )
        self.drifts += drifted
        return drifted

    def factors(self, kind: str, out: FloatColumn) -> FloatColumn:
        """Expected measured / nominal seconds on every type of device, written into `out`."""
        mean_factors(self.place(kind), self.cells, self.types, self.shared, self.prior, out)
        return out

    def factor(self, kind: str, device_type: int, size: float = 1.0) -> float:
        """Expected measured / nominal seconds."""
        return float(
            belief.mean_factor(
                self.place(kind), device_type, math.log(size), self.cells, self.types, self.shared, self.prior
            )
        )

    def estimate(self, kind: str, device_type: int, nominal_s: float = 1.0, size: float = 1.0) -> Belief:
        """What is believed of a task on a type of device."""
        at = (self.place(kind), device_type, math.log(size), self.cells, self.types, self.shared, self.prior)
        mean, variance, noise = belief.log_belief(*at)
        low, high = belief.quantile(*at)
        return Belief(
            seconds=nominal_s * math.exp(mean + 0.5 * min(belief.MOST_CORRECTION, variance + noise)),
            spread=math.sqrt(math.expm1(min(10.0, variance + noise))),
            low_s=nominal_s * low,
            high_s=nominal_s * high,
            runs=int(self.cells[at[0], device_type, belief.RUNS]),
        )

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        used = len(self.kinds)
        return {
            "version": VERSION,
            "kinds": list(self.kinds),
            "cells": self.cells[:used].tolist(),
            "types": self.types.tolist(),
            "shared": self.shared.tolist(),
            "prior": self.prior.tolist(),
            "drifts": self.drifts,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        kinds, types = list(state["kinds"]), np.array(state["types"], dtype=np.float64)
        held = np.array(state["cells"], dtype=np.float64)
        fits = not kinds or held.shape == (len(kinds), len(types), belief.CELL)
        prior = np.array(state["prior"], dtype=np.float64)  # of an older version without the last entries, which are 0
        prior = np.append(prior, np.zeros(belief.PRIOR - len(prior)))
        same = slice(belief.COMMON_VARIANCE, belief.PRIOR)
        fits = fits and bool(np.array_equal(prior[same], self.prior[same]))
        if state.get("version") != VERSION or types.shape != self.types.shape or not fits:
            raise ModelError("The stored estimator of durations is of another version or for another node.")
        self.cells = np.zeros((max(FIRST_KINDS, len(kinds) + 1), len(types), belief.CELL))
        if kinds:
            self.cells[: len(kinds)] = held
        self.kinds = {name: row for row, name in enumerate(kinds)}
        self.types, self.shared = types, np.array(state["shared"], dtype=np.float64)
        self.prior = prior
        self.drifts = int(state["drifts"])


def belief_sentence(believed: Belief, device: str, took_s: float | None = None) -> str:
    """What was believed, from how many runs, and what happened, in words."""
    runs = "no run" if believed.runs == 0 else f"{believed.runs:,} run{'s' if believed.runs > 1 else ''}"
    text = f"believed {shown_seconds(believed.seconds)} ± {believed.spread:.0%} from {runs} of this kind on {device}"
    return text if took_s is None else f"{text}; took {shown_seconds(took_s)}"


def shown_seconds(seconds: float) -> str:
    """Seconds with a unit that leaves a readable number."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
