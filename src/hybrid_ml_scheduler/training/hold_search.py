"""Search for the settings of `rl_hold` that suit one stream best: all shipped ones, then changes of the best of them.

What was tried is kept in a file beside the result, so that a search that was interrupted goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.learning.files import write_model
from hybrid_ml_scheduler.schedulers.agents.hold_model import EXPANDED, FEATURES, HoldModel
from hybrid_ml_scheduler.schedulers.holding.settings import PLANNED, History, Setting, replayed_values

__all__ = ["Tried", "found_settings", "tuned_model"]

_ROUNDS, _KEPT, _CHILDREN = 8, 4, 14


class Tried:
    """The value of every setting that was tried on a history, kept in a file if one is named."""

    def __init__(self, history: History, objective: str, rates: FloatColumn, place: Path | None = None) -> None:
        self._history, self._objective, self._rates, self._place = history, objective, rates, place
        columns = (history.ready_s, history.size_s, history.tasks.cpu_s, history.tasks.gpu_s, rates)
        digest = hashlib.sha256(f"{objective} {history.aging}".encode())
        for column in columns:
            digest.update(np.ascontiguousarray(column).tobytes())
        self._fingerprint = digest.hexdigest()
        self.values: dict[Setting, float] = self._kept()

    def try_all(self, settings: tuple[Setting, ...]) -> None:
        """Play the stream under those that were not tried yet."""
        fresh = tuple(dict.fromkeys(one for one in settings if one not in self.values))
        if fresh:
            found = replayed_values(self._history, fresh, self._objective, self._rates)
            self.values.update(zip(fresh, found.tolist(), strict=True))
            self._keep()

    def best(self, among: list[Setting], count: int) -> list[Setting]:
        """The best of these settings, the first tried among equals."""
        return sorted(among, key=lambda one: self.values[one])[:count]

    def _kept(self) -> dict[Setting, float]:
        """What an interrupted search of the same stream had tried; anything else is not ours and begins afresh."""
        try:
            document = json.loads(self._place.read_text(encoding="utf-8")) if self._place else {}
            if document.get("fingerprint") != self._fingerprint:
                return {}
            return {Setting(bool(one[0]), *map(float, one[1:])): float(value) for one, value in document["tried"]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def _keep(self) -> None:
        if self._place is None:
            return
        tried = [[list(one), value] for one, value in self.values.items()]
        text = json.dumps({"fingerprint": self._fingerprint, "tried": tried})
        write_model(self._place, lambda beside: Path(beside).write_text(text, encoding="utf-8"))


def found_settings(tried: Tried, seed: int, tell: Callable[[str, int, int], None]) -> list[Setting]:
    """The best settings of all rounds; each round changes the best four at random."""
    tried.try_all(PLANNED)
    known = list(PLANNED)  # what was tried by now; the file of an interrupted search may hold more
    for number in range(_ROUNDS):
        tell("trying settings", number, _ROUNDS)
        rng, best = stream(seed, "tune", f"round {number}"), tried.best(known, _KEPT)
        changed = tuple(_changed(best[place % len(best)], rng) for place in range(_CHILDREN))
        tried.try_all(changed)
        known += [one for one in dict.fromkeys(changed) if one not in known]
    tell("trying settings", _ROUNDS, _ROUNDS)
    return tried.best(known, _KEPT)


def _changed(setting: Setting, rng: np.random.Generator) -> Setting:
    """A setting near this one; a limit that is none may become one, and the other way round."""
    noise = rng.standard_normal(4).tolist()
    price = max(0.0, setting.price * math.exp(0.4 * noise[0]) + 0.1 * noise[1])
    low = _limit(setting.low, noise[2], rng, 8.0)
    ratio = min(12.0, max(1.0, setting.ratio * math.exp(0.3 * noise[3])))
    cpu = _limit(setting.cpu, float(rng.standard_normal()), rng, 20.0)
    splits = setting.splits != (rng.random() < 0.1)
    return Setting(splits, round(price, 3), round(low, 3), round(ratio, 3), round(cpu, 3))


def _limit(limit: float, noise: float, rng: np.random.Generator, usual: float) -> float:
    if math.isinf(limit):
        return usual * math.exp(0.8 * noise) if rng.random() < 0.3 else math.inf
    return math.inf if rng.random() < 0.1 else min(1e4, max(0.2, limit * math.exp(0.4 * noise)))


def tuned_model(setting: Setting, patience: float, record: dict[str, object], aging: float = 0.0) -> HoldModel:
    """A model with this one setting: nothing is left to be chosen on the way."""
    return HoldModel(
        settings=(setting,),
        weights=np.zeros((1, EXPANDED)),
        centre=np.zeros(FEATURES),
        scale=np.ones(FEATURES),
        patience=patience,
        aging=aging,
        record=record,
    )
