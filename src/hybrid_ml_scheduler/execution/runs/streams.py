"""Streams of built-in real tasks: which kind and size comes when, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.execution.runs.kinds import Sizes

__all__ = ["RealStream", "drawn_stream"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RealStream:
    """Tasks in order of arrival: the kind's number, the size, and the planned moment."""

    kinds: tuple[str, ...]
    kind: IntColumn
    size: FloatColumn
    arrival_s: FloatColumn
    seed: int

    def __len__(self) -> int:
        return len(self.kind)

    def names(self) -> list[str]:
        """The kind of every task."""
        return [self.kinds[code] for code in self.kind.tolist()]

    def documents(self, chunk: int) -> Iterator[dict[str, Any]]:
        """The tasks in pieces, as columns."""
        names, sizes, arrivals = self.names(), self.size.tolist(), self.arrival_s.tolist()
        for first in range(0, len(names), chunk):
            own = slice(first, first + chunk)
            yield {"first": first, "kind": names[own], "size": sizes[own], "arrival_s": arrivals[own]}

    def at_once(self) -> RealStream:
        """The same tasks, all there at the beginning."""
        return replace(self, arrival_s=np.zeros(len(self)))

    def at_rate(self, rate: float) -> RealStream:
        """The same tasks, so many a second."""
        return replace(self, arrival_s=self.arrival_s * (len(self) / max(float(self.arrival_s[-1]), 1e-9) / rate))


def drawn_stream(sizes: Sizes, count: int, seed: int) -> RealStream:
    """Kinds and sizes uniformly, arrivals as a Poisson process of one task a second (see `at_rate`)."""
    rng = stream(seed, "execution", "stream")
    kinds = tuple(sizes)
    codes = rng.integers(len(kinds), size=count)
    places = rng.random(count)
    grids = [sizes[kinds[code]] for code in codes]
    chosen = [grid[int(place * len(grid))] for grid, place in zip(grids, places, strict=True)]
    arrivals = np.cumsum(rng.exponential(1.0, count))
    return RealStream(
        kinds=kinds,
        kind=codes.astype(np.int64),
        size=np.array(chosen, dtype=np.float64),
        arrival_s=arrivals - arrivals[0],
        seed=seed,
    )
