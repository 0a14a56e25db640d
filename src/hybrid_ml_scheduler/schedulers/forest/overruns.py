"""What is expected of a device whose part runs longer than was believed.

Everybody sees that such a device is busy, but what was believed says that it should be free. With heavy tails a part
that has overrun by an hour is more likely to go on for hours than to end at any moment, so it is expected to go on for
as long as it has overrun. Where durations scatter little this is next to nothing.
"""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn

__all__ = ["expect_overruns", "note_due"]


@compiled(nogil=True)
def expect_overruns(now: float, backlog: FloatColumn, idle: BoolColumn, due_s: FloatColumn) -> None:
    """Give overrun devices the backlog that is expected, and note of the others when they are due."""
    for device in range(backlog.shape[0]):
        if backlog[device] > 0.0:
            due_s[device] = now + backlog[device]
        elif not idle[device]:
            backlog[device] = max(0.0, now - due_s[device])


@compiled(nogil=True)
def note_due(now: float, before: FloatColumn, backlog: FloatColumn, due_s: FloatColumn) -> None:
    """A task starts: the devices whose backlog it moved on are due later."""
    for device in range(backlog.shape[0]):
        if backlog[device] != before[device]:
            due_s[device] = now + backlog[device]
