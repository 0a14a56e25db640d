"""What the viewers of one process see: the newest update and the latest lines, encoded once however many watch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable
from datetime import datetime, timezone

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.wire.live import LatestTask, LogLine, Notification, SimulationUpdate, Snapshot

__all__ = ["DEFAULT_FOCUS", "Screen"]

DEFAULT_FOCUS = "hybrid_ml"

_LINES_KEPT = 100
_TASKS_KEPT = 300


class Screen(ABC):
    """Keeps what a viewer who comes late must be shown, and wakes the others; lives on the event loop."""

    def __init__(self, hub: Hub) -> None:
        self.seq = 0
        self._hub = hub
        self._changes = 0
        self._encoded: dict[str, str] = {}
        self._snapshots: dict[str, str] = {}
        self._snapshots_of = 0
        self._tasks: deque[LatestTask] = deque(maxlen=_TASKS_KEPT)
        self._notices: deque[Notification] = deque(maxlen=_LINES_KEPT)
        self._log: deque[LogLine] = deque(maxlen=_LINES_KEPT)

    @property
    @abstractmethod
    def strategies(self) -> Collection[str]:
        """The strategies that a viewer may put into focus."""

    @abstractmethod
    def update(self, focus: str) -> SimulationUpdate:
        """Return the newest update for a focus."""

    def encoded_update(self, focus: str) -> str:
        """Return the newest update as text, encoded once for each focus."""
        found = self._encoded.get(focus)
        if found is None:
            found = self._encoded[focus] = self.update(focus).model_dump_json()
        return found

    def snapshot(self, focus: str) -> str:
        """Return the first message of a connection, made once however many come at the same time."""
        if self._changes != self._snapshots_of:
            self._snapshots, self._snapshots_of = {}, self._changes
        if focus not in self._snapshots:
            self._snapshots[focus] = self.whole(focus).model_dump_json()
        return self._snapshots[focus]

    def whole(self, focus: str) -> Snapshot:
        """Return all that is needed to draw everything."""
        return Snapshot(
            seq=self.seq,
            at=datetime.now(tz=timezone.utc),
            version=__version__,
            update=self.update(focus),
            recent_tasks=list(self._tasks),
            notifications=list(self._notices),
            log=list(self._log),
        )

    def _refreshed(self, seq: int, tasks: Iterable[LatestTask], *, is_same_run: bool) -> None:
        """A newer update is there, with these of its tasks."""
        if not is_same_run:
            self._tasks.clear()
        self._tasks.extend(tasks)
        self.seq = seq
        self._changes += 1
        self._encoded.clear()
        self._hub.refresh()

    def _noted(self, message: Notification | LogLine) -> None:
        """Keep a line and send it to everyone."""
        if isinstance(message, Notification):
            self._notices.append(message)
        else:
            self._log.append(message)
        self._changes += 1
        self._hub.line(message.model_dump_json())
