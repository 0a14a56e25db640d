"""Why the latest tasks were decided as they were, remembered at the moment of decision."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.text import plain_text

if TYPE_CHECKING:
    from hybrid_ml_scheduler.live.racer import Racer

__all__ = ["ReasonMemory", "plain_reasons"]

_TASKS_REMEMBERED = 2000
_DEEPEST = 8


def plain_reasons(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a strategy's reasons as JSON can hold them: its author may say them with sets, arrays or own classes."""
    return {plain_text(name): _plain(value, 1) for name, value in dict(said).items()}


def _plain(value: Any, depth: int) -> Any:
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers, and tensors
        value = value.tolist()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {plain_text(name): _plain(one, depth + 1) for name, one in value.items()}
    if depth < _DEEPEST and isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray)):
        ordered = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [_plain(one, depth + 1) for one in ordered]
    return plain_text(value)


class ReasonMemory:
    """Reasons of the latest explained tasks, as text, because text is small."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()

    def remember(self, task_id: int, racers: Sequence[Racer]) -> None:
        """Keep what the strategies said about this task."""
        said = {racer.name: dict(racer.reasons) for racer in racers if racer.reasons_of == task_id}
        if said:
            self._texts[task_id] = json.dumps(said)
        while len(self._texts) > _TASKS_REMEMBERED:
            self._texts.popitem(last=False)

    def recall(self, task_id: int) -> Mapping[str, Mapping[str, Any]]:
        """Return each strategy's reasons for a task; empty when it is too old or was never explained."""
        text = self._texts.get(task_id)
        found: Mapping[str, Mapping[str, Any]] = json.loads(text) if text else {}
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._texts.clear()
