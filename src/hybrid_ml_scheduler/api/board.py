"""What viewers see: the arena's newest frame as wire messages, made once however many watch."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from datetime import datetime, timezone

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api.views import notice_view, task_view, update_view
from hybrid_ml_scheduler.api.wire.live import LogLine, Notification, SimulationUpdate, Snapshot
from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.frames import Frame, idle_frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.live.records import Notice

__all__ = ["DEFAULT_FOCUS", "Board"]

DEFAULT_FOCUS = "hybrid_ml"

_LINES_KEPT = 100
_TASKS_KEPT = 300


class Board:
    """Takes frames from the arena's thread; everything else happens on the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._frame = idle_frame(time.time())
        self._seq = 0
        self._encoded: dict[str, str] = {}
        self._snapshots: dict[str, str] = {}
        self._snapshots_of = (0, 0)
        self._tasks: deque[Task] = deque(maxlen=_TASKS_KEPT)
        self._notices: deque[Notification] = deque(maxlen=_LINES_KEPT)
        self._log: deque[LogLine] = deque(maxlen=_LINES_KEPT)
        self._number = 0

    @property
    def seq(self) -> int:
        """The number of the newest update."""
        return self._seq

    @property
    def frame(self) -> Frame:
        """The newest frame."""
        return self._frame

    def show(self, frame: Frame) -> None:
        """Take a frame, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, frame)

    def tell(self, notice: Notice) -> None:
        """Take a notice, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note, notice)

    def _take(self, frame: Frame) -> None:
        if frame.task is not None and frame.status.run_id == self._frame.status.run_id:
            self._tasks.extend(frame.recent_tasks)
        else:
            self._tasks.clear()
            self._tasks.extend(frame.recent_tasks)
        if frame.task is not None and frame.task != self._frame.task:
            self._log_task(frame)
        self._frame = frame
        self._seq += 1
        self._encoded.clear()
        self._hub.refresh()

    def _log_task(self, frame: Frame) -> None:
        task = frame.task
        if task is not None:
            chosen = ", ".join(f"{name} {trace.device}" for name, trace in frame.latest.items())
            self.log(f"Task {task.task_id}: size {task.size:.0f}, intensity {task.compute_intensity:.2f}: {chosen}.")

    def _note(self, notice: Notice) -> None:
        self._number += 1
        message = notice_view(notice, self._number)
        self._notices.append(message)
        self._hub.line(message.model_dump_json())
        self.log(notice.message, "error" if notice.level == "error" else "info")

    def log(self, text: str, level: str = "info") -> None:
        """Add a line to the live log (on the event loop)."""
        self._number += 1
        line = LogLine.model_validate(
            {"id": self._number, "level": level, "message": text, "at": datetime.now(tz=timezone.utc)}
        )
        self._log.append(line)
        self._hub.line(line.model_dump_json())

    def update(self, focus: str) -> SimulationUpdate:
        """Return the newest update for a focus."""
        return update_view(self._frame, self._seq, focus)

    def encoded_update(self, focus: str) -> str:
        """Return the newest update as text, encoded once for each focus."""
        found = self._encoded.get(focus)
        if found is None:
            found = self._encoded[focus] = self.update(focus).model_dump_json()
        return found

    def snapshot(self, focus: str) -> str:
        """Return the first message of a connection, made once however many come at the same time."""
        moment = (self._seq, self._number)
        if moment != self._snapshots_of:
            self._snapshots, self._snapshots_of = {}, moment
        if focus not in self._snapshots:
            self._snapshots[focus] = self._snapshot(focus)
        return self._snapshots[focus]

    def _snapshot(self, focus: str) -> str:
        return Snapshot(
            seq=self._seq,
            at=datetime.now(tz=timezone.utc),
            version=__version__,
            update=self.update(focus),
            recent_tasks=[task_view(task) for task in self._tasks],
            notifications=list(self._notices),
            log=list(self._log),
        ).model_dump_json()
