"""What was believed of a kind of work on a type of device when tasks were decided, beside what happened then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["BeliefRecord", "BelievedCell"]

MEMORY = 50  # runs that count; older ones fade


class BelievedCell(NamedTuple):
    """Of the latest runs of a kind on a type: how many times the nominal seconds were believed, and how many happened.

    `error` is the mean relative distance of the two, task by task: 0.2 is a fifth off.
    """

    runs: int
    believed: float
    happened: float
    error: float


class BeliefRecord:
    """Fading means for every (kind, device type); means are of logarithms, for twice and half are equally far off."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], list[float]] = {}

    def add(self, kind: str, device_type: int, believed: float, happened: float) -> None:
        """A task has finished that was believed to take `believed` times its nominal seconds."""
        if believed <= 0.0 or happened <= 0.0:
            return
        cell = self._cells.setdefault((kind, device_type), [0.0, 0.0, 0.0, 0.0])
        cell[0] += 1.0
        share, before, after = 1.0 / min(cell[0], MEMORY), math.log(believed), math.log(happened)
        cell[1] += share * (before - cell[1])  # one by one: this is done for every part of every task
        cell[2] += share * (after - cell[2])
        cell[3] += share * (abs(after - before) - cell[3])

    def cells(self) -> dict[tuple[str, int], BelievedCell]:
        """The record by kind and type of device."""
        return {
            key: BelievedCell(int(runs), math.exp(believed), math.exp(happened), math.expm1(error))
            for key, (runs, believed, happened, error) in self._cells.items()
        }

    def capture(self) -> list[Any]:
        """The record as plain values."""
        return [[*key, *cell] for key, cell in self._cells.items()]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `capture` put under `record`; older states hold none."""
        self._cells = {(kind, place): list(cell) for kind, place, *cell in state.get("record", ())}
