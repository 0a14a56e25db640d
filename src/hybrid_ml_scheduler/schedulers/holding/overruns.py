"""Parts that run longer than was believed: each is expected to go on for as long as it has overrun.

Where durations have heavy tails, waiting for it as if it would end at any moment is waiting for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, FloatColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.schedulers.grid import as_column

__all__ = ["expect_overruns", "expected_backlogs", "note_due"]


@compiled(nogil=True, inline="always")
def expect_overruns(now: float, backlog: FloatColumn, idle: BoolColumn, due_s: FloatColumn) -> None:
    """Give overrun devices the backlog that is expected, and note of the others when they are due.

    Everybody sees that such a device is busy, but what was believed says that it should be free. With heavy tails a
    part that has overrun by an hour is more likely to go on for hours than to end at any moment, so it is expected to
    go on for as long as it has overrun. Where durations scatter little this is next to nothing.
    """
    for device in range(backlog.shape[0]):
        if backlog[device] > 0.0:
            due_s[device] = now + backlog[device]
        elif not idle[device]:
            backlog[device] = max(0.0, now - due_s[device])


@compiled(nogil=True, inline="always")
def note_due(now: float, before: FloatColumn, backlog: FloatColumn, due_s: FloatColumn) -> None:
    """A task starts: the devices whose backlog it moved on are due later."""
    for device in range(backlog.shape[0]):
        if backlog[device] != before[device]:
            due_s[device] = now + backlog[device]


def expected_backlogs(cluster: ClusterView, idle: Sequence[bool] | BoolColumn, due_s: FloatColumn) -> FloatColumn:
    """How long every device is expected to be busy, the CPU first; overruns count where it is known who is idle."""
    backlog = as_column((cluster.cpu_backlog_s, *cluster.gpu_backlogs_s))
    if len(idle):
        expect_overruns(cluster.now_s, backlog, np.asarray(idle), due_s)
    return backlog
