"""The screen of the process that runs the race: the arena's newest frame as wire messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from datetime import datetime, timezone

from hybrid_ml_scheduler.live.frames import Frame, idle_frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.live.records import Notice
from hybrid_ml_scheduler.service.viewers.screen import Screen
from hybrid_ml_scheduler.service.views.live import notice_view, task_view, update_view
from hybrid_ml_scheduler.service.wire.live import LogLine, SimulationUpdate

__all__ = ["LatestFrame"]


class LatestFrame(Screen):
    """Takes frames from the arena's thread; everything else happens on the event loop."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._loop = asyncio.get_running_loop()
        self._frame = idle_frame(time.time())
        self._number = 0

    @property
    def strategies(self) -> Collection[str]:
        """The strategies of the race."""
        return self._frame.clusters.keys()

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

    def update(self, focus: str) -> SimulationUpdate:
        """Return the newest update for a focus."""
        return update_view(self._frame, self.seq, focus)

    def log(self, text: str, level: str = "info") -> None:
        """Add a line to the live log (on the event loop)."""
        self._number += 1
        now = datetime.now(tz=timezone.utc)
        self._noted(LogLine.model_validate({"id": self._number, "level": level, "message": text, "at": now}))

    def _take(self, frame: Frame) -> None:
        before, self._frame = self._frame, frame
        if frame.task is not None and frame.task != before.task:
            self._log_task(frame)
        is_same_run = frame.task is not None and frame.status.run_id == before.status.run_id
        self._refreshed(self.seq + 1, map(task_view, frame.recent_tasks), is_same_run=is_same_run)

    def _log_task(self, frame: Frame) -> None:
        task = frame.task
        if task is not None:
            chosen = ", ".join(f"{name} {trace.device}" for name, trace in frame.latest.items())
            self.log(f"Task {task.task_id}: size {task.size:.0f}, intensity {task.compute_intensity:.2f}: {chosen}.")

    def _note(self, notice: Notice) -> None:
        self._number += 1
        self._noted(notice_view(notice, self._number))
        self.log(notice.message, "error" if notice.level == "error" else "info")
