"""The books of a strategy that sees no part end: when each device would be free if all took what it believes.

Believed seconds are entered when a task is placed, and time runs them off. A part that takes longer, or ends earlier,
changes nothing: a device that idles may be believed to be busy, and a busy one to be free.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hybrid_ml_scheduler.core.compiled import python_function
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.physics import placement

__all__ = ["Books"]

_place = python_function(placement.place)


class Books:
    """When each device is believed to be free: the CPU, the GPUs, then the further slots of the CPU."""

    __slots__ = ("_slots", "ends_s")

    def __init__(self, num_gpus: int, slots: int) -> None:
        self.ends_s = [0.0] * (num_gpus + slots)
        self._slots = (0, *range(num_gpus + 1, num_gpus + slots))

    def backlogs_s(self, now_s: float) -> list[float]:
        """How long each device is believed to be busy from now on."""
        return [end_s - now_s if end_s > now_s else 0.0 for end_s in self.ends_s]

    def enter(self, now_s: float, cpu_part: float, gpu_part: float, gpus: Iterable[int], *, serial: bool) -> None:
        """Enter the parts of a task: placed as all tasks are, but by what is believed."""
        ends_s, places = self.ends_s, [gpu + 1 for gpu in gpus]
        slot = min(self._slots, key=ends_s.__getitem__)
        gpu_free_s = max(ends_s[place] for place in places)
        placed = _place(now_s, ends_s[slot], gpu_free_s, cpu_part, gpu_part, 1.0, 1.0, serial)
        if cpu_part > 0.0:
            ends_s[slot] = placed[5]
        if gpu_part > 0.0:
            for place in places:
                ends_s[place] = placed[6]

    @property
    def column(self) -> FloatColumn:
        """The same for compiled code, which moves them on."""
        return np.array(self.ends_s)
