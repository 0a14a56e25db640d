"""Where the race's output goes: one outlet that loses nothing, one that never waits."""

from __future__ import annotations

from typing import Literal, Protocol

from hybrid_ml_scheduler.live.frames import Frame
from hybrid_ml_scheduler.live.records import Notice, Rows

__all__ = ["Keeper", "StoreState", "Viewers"]

StoreState = Literal["ok", "waiting", "down", "refused"]


class Keeper(Protocol):
    """Keeps every row. It has a bounded backlog: a slow keeper slows the race, and loses nothing."""

    def has_room(self, rows: int) -> bool:
        """Say whether this many rows can be taken without waiting."""

    def keep(self, rows: Rows) -> None:
        """Take the rows; called only after `has_room`."""

    @property
    def backlog(self) -> int:
        """Rows taken and not yet safe."""

    @property
    def is_up(self) -> bool:
        """Whether rows are being stored at the moment."""

    @property
    def refusal(self) -> str | None:
        """Why no more rows are taken, in one sentence; None as long as they are, or wait for a store that is away."""


class Viewers(Protocol):
    """People watching. Only the latest frame counts; nothing here may wait."""

    def show(self, frame: Frame) -> None:
        """Offer the newest frame; it replaces one that was not looked at."""

    def tell(self, notice: Notice) -> None:
        """Pass on a notice."""
