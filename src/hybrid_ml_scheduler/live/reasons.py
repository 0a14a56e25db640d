"""Why the latest tasks were decided as they were, remembered at the moment of decision."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.live.racer import Racer

__all__ = ["ReasonMemory"]

_TASKS_REMEMBERED = 2000


class ReasonMemory:
    """Reasons of the latest explained tasks, as text, because text is small."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()

    def remember(self, task_id: int, racers: Sequence[Racer]) -> None:
        """Keep what the strategies said about this task."""
        said = {racer.name: dict(racer.reasons) for racer in racers if racer.reasons_of == task_id}
        if said:
            self._texts[task_id] = json.dumps(said, default=float)
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
