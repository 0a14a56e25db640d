"""What was believed of a kind of work on a type of device when tasks were decided, beside what happened then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["BeliefRecord", "BelievedCell", "note_outcome"]

MEMORY = 50  # runs that count; older ones fade
FIRST_KINDS = 16
# A cell of the table: runs, then fading means of the logarithms of what was believed and happened, and of the distance.
RUNS, BELIEVED, HAPPENED, ERROR = range(4)


class BelievedCell(NamedTuple):
    """Of the latest runs of a kind on a type: how many times the nominal seconds were believed, and how many happened.

    `error` is the mean relative distance of the two, task by task: 0.2 is a fifth off.
    """

    runs: int
    believed: float
    happened: float
    error: float


@compiled()
def note_outcome(cell: FloatColumn, believed: float, happened: float) -> None:
    """A task has finished that was believed to take `believed` times its nominal seconds."""
    if believed <= 0.0 or happened <= 0.0:
        return
    cell[RUNS] += 1.0
    share, before, after = 1.0 / min(cell[RUNS], MEMORY), math.log(believed), math.log(happened)
    cell[BELIEVED] += share * (before - cell[BELIEVED])
    cell[HAPPENED] += share * (after - cell[HAPPENED])
    cell[ERROR] += share * (abs(after - before) - cell[ERROR])


class BeliefRecord:
    """Fading means for every (kind, device type); means are of logarithms, for twice and half are equally far off."""

    def __init__(self, num_types: int = 2) -> None:
        self.kinds: dict[str, int] = {}
        self.table = np.zeros((FIRST_KINDS, num_types, 4))

    def row(self, kind: str) -> int:
        """The row of a kind in the table; a new one gets the next."""
        found = self.kinds.get(kind)
        if found is None:
            found = self.kinds[kind] = len(self.kinds)
            if found >= len(self.table):
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        return found

    def add(self, kind: str, device_type: int, believed: float, happened: float) -> None:
        """A task has finished that was believed to take `believed` times its nominal seconds."""
        note_outcome(self.table[self.row(kind), device_type], believed, happened)

    def _rows(self) -> list[tuple[str, int, list[float]]]:
        return [
            (kind, place, cell)
            for kind, row in self.kinds.items()
            for place, cell in enumerate(self.table[row].tolist())
            if cell[RUNS] > 0.0
        ]

    def cells(self) -> dict[tuple[str, int], BelievedCell]:
        """The record by kind and type of device."""
        return {
            (kind, place): BelievedCell(int(runs), math.exp(believed), math.exp(happened), math.expm1(error))
            for kind, place, (runs, believed, happened, error) in self._rows()
        }

    def capture(self) -> list[Any]:
        """The record as plain values, by kind and type of device."""
        return sorted([kind, place, *cell] for kind, place, cell in self._rows())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `capture` put under `record`."""
        self.kinds, self.table = {}, np.zeros_like(self.table)
        for kind, place, *cell in state["record"]:
            self.row(kind)
            self.table[self.kinds[kind], place] = cell
