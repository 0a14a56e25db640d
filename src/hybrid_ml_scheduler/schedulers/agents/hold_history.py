"""What `rl_hold` remembers of the latest tasks, in the form in which they are played again."""

from __future__ import annotations

import math
from itertools import islice
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, Task
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.held_choices import possible_seconds
from hybrid_ml_scheduler.schedulers.grid import as_column
from hybrid_ml_scheduler.schedulers.holding.settings import History

__all__ = ["REMEMBERED", "Remembered", "known_history", "latest_tasks"]

REMEMBERED = 4000


class Remembered(NamedTuple):
    """A task that became ready, as it was believed to be; when it has finished where it ran, the seconds it took."""

    ready_s: float
    task: Task
    terms: TaskTerms
    share: float = 0.0
    gpu: int = 0
    took_s: float = math.nan


def latest_tasks(history: dict[int, Remembered]) -> dict[int, Remembered]:
    """The newest, as many as are played again."""
    return dict(islice(history.items(), max(0, len(history) - REMEMBERED), None))


def known_history(latest: list[Remembered], tasks: BatchTerms, learns: bool, aging: float, patience: float) -> History:
    """The latest tasks; where seconds are learned, as they are believed to be now, with what they really took."""
    cut_s, whole_s = (possible_seconds(tasks, cut) for cut in (True, False))
    ready_s, width = as_column([one.ready_s for one in latest]), [one.task.gpus_required for one in latest]
    slower = _slower(latest, tasks) if learns else None
    return History(ready_s, cut_s, tasks, aging, patience, whole_s, np.array(width, dtype=np.int64), slower)


def _slower(latest: list[Remembered], tasks: BatchTerms) -> FloatColumn:
    """How many times as long as is believed now every task took; one that has not finished counts as believed."""
    slower = np.ones(len(latest))
    for row, one in enumerate(latest):
        if one.took_s > 0.0:
            terms = (tasks.cpu_s[row], tasks.gpu_s[row], tasks.paged_s[row], *one.terms[3:])
            _, cpu_s, gpu_s, _ = split_on(one.gpu, one.share, terms)
            slower[row] = one.took_s / (cpu_s + gpu_s) if cpu_s + gpu_s > 0.0 else 1.0
    return slower
