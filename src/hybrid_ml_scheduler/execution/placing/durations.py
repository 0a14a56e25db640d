"""How long a kind of task takes on a device: the product's learned estimator, fed with measured times.

Two things are particular to real runs. The first run of a function in a worker is a warm-up (imports, compilation, a
GPU's start) and counts only while there is nothing better. And tiny tasks come by the ten thousand: of a kind that is
well known only some are measured, and an estimate is used again for a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hybrid_ml_scheduler.execution.placing.trials import Trials
from hybrid_ml_scheduler.learning.duration_model import Belief, DurationModel

__all__ = ["Estimate", "LearnedDurations"]

# A kind that was measured so often is measured only every so many times while its tasks are short.
_WELL_KNOWN, _EVERY = 64, 8
_SHORT_S = 1e-3
# An estimate of a well-known kind is used so many times before it is made again.
_USES = 16
_MOST_REMEMBERED = 4096


class Estimate(NamedTuple):
    """Believed seconds, and how many measurements they rest on (0: only warm-ups)."""

    seconds: float
    runs: int


class _Cell:
    """What this room remembers of a kind on a device beside the estimator."""

    __slots__ = ("cold", "cold_s", "runs", "seconds", "size", "uses")

    def __init__(self) -> None:
        self.runs = self.cold = self.uses = 0
        self.cold_s = math.inf
        self.size = self.seconds = 0.0


class LearnedDurations:
    """The learned estimator by the names of devices."""

    def __init__(self, devices: Sequence[str]) -> None:
        self._types = {name: number for number, name in enumerate(dict.fromkeys(devices))}
        self._model = DurationModel.of_measured(max(len(self._types), 1))
        self._cells: dict[tuple[str, str], _Cell] = {}
        self.trials = Trials(self.belief)

    def estimate(self, kind: str, device: str, size: float) -> Estimate | None:
        """What is believed about a task; None if this kind was never measured on this device."""
        cell = self._cells.get((kind, device))
        if cell is None:
            return None
        if not cell.runs:
            return Estimate(cell.cold_s, 0) if cell.cold > 1 else None
        if cell.size == size and cell.uses < _USES and cell.runs >= _WELL_KNOWN:
            cell.uses += 1
            return Estimate(cell.seconds, cell.runs)
        cell.seconds = self._model.factor(kind, self._types[device], size)
        cell.size, cell.uses = size, 0
        return Estimate(cell.seconds, cell.runs)

    def is_unmeasured(self, kind: str, device: str) -> bool:
        """Whether a kind was never measured on a device but for warm-ups, and none of its tasks is under way there."""
        cell = self._cells.get((kind, device))
        warm_ups = 0 if cell is None else cell.cold
        return (cell is None or not cell.runs) and self.trials.times_placed(kind, device) <= warm_ups

    def observe(self, kind: str, device: str, size: float, seconds: float, cold: bool = False) -> bool:
        """Learn from one measured time; False if it was passed over."""
        cell = self._cells.get((kind, device))
        if cell is None:
            if len(self._cells) >= _MOST_REMEMBERED:
                return False  # kinds without end are no kinds
            cell = self._cells[kind, device] = _Cell()
        if cold:
            cell.cold += 1
            cell.cold_s = min(cell.cold_s, seconds)
            return False
        cell.runs += 1
        if cell.runs > _WELL_KNOWN and seconds < _SHORT_S and cell.runs % _EVERY:
            return False
        self._model.observe(kind, self._types[device], seconds, size=size)
        return True

    def learn(self, observations: Iterable[tuple[str, str, float, float]]) -> None:
        """Start from measurements of earlier runs: (kind, device, size, seconds)."""
        for kind, device, size, seconds in observations:
            if device in self._types:
                self.observe(kind, device, size, seconds)

    def forget(self) -> None:
        """Know nothing again."""
        self._model = DurationModel.of_measured(max(len(self._types), 1))
        self._cells.clear()
        self.trials.forget()

    def belief(self, kind: str, device: str, size: float) -> Belief:
        """Seconds, spread and 90 % interval."""
        return self._model.estimate(kind, self._types[device], size=size)

    def pairs(self) -> list[tuple[str, str]]:
        """Every kind and device with a measurement."""
        return sorted(key for key, cell in self._cells.items() if cell.runs)
