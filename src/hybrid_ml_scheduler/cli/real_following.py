"""A real run shown while it runs: a thread sends what has ended to a service, and the run never waits for it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.cli.real_storing import CHUNK, post
from hybrid_ml_scheduler.core.errors import HmsError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.execution.runs.measured_run import EndedTask, EndedTasks
    from hybrid_ml_scheduler.execution.runs.streams import RealStream

__all__ = ["LiveSender"]

_EVERY_S = 0.5
_PATIENCE_S = 5.0


class LiveSender:
    """Sends every half second what has ended since.

    What has not been sent stays with the executor, so that nothing piles up here. A service that does not answer is
    not asked again about the same run: `problem` says why, and what it missed is sent when the run has ended.
    """

    def __init__(self, service: str, key: str | None = None) -> None:
        self._base, self._key = service.rstrip("/") + "/api/runs", key
        self._news: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._ended: EndedTasks | None = None
        self._strategy = ""
        self._stopping = threading.Event()
        self.run_ids: list[int | None] = []
        self.problem: HmsError | None = None
        self._thread = threading.Thread(target=self._serve, name="hms-follow", daemon=True)
        self._thread.start()

    def begin(self, document: dict[str, Any], tasks: RealStream) -> None:
        """A repeat begins."""
        self._news.put((self._begun, document, tasks))

    def watch(self, strategy: str, ended: EndedTasks) -> None:
        """A strategy begins to run it."""
        self._news.put((self._watched, strategy, ended))

    def stop(self) -> Sequence[int | None]:
        """Send no more, and return the ids of the runs that were begun; None of one that could not be."""
        self._stopping.set()
        self._thread.join()
        return self.run_ids

    def _serve(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            self._send_newest()
            while not self._news.empty():
                deed, *given = self._news.get()
                deed(*given)

    def _begun(self, document: dict[str, Any], tasks: RealStream) -> None:
        self._ended = None
        self.run_ids.append(None)
        card = self._posted("measured", {**document, "is_running": True})
        pieces = tasks.documents(CHUNK)
        if card is not None and all(self._posted(f"{card['run_id']}/measured_tasks", one) for one in pieces):
            self.run_ids[-1] = int(card["run_id"])

    def _watched(self, strategy: str, ended: EndedTasks) -> None:
        self._send_newest()
        self._strategy, self._ended = strategy, ended

    def _send_newest(self) -> None:
        run_id = self.run_ids[-1] if self.run_ids else None
        if self._ended is None or run_id is None:
            return
        newest = self._ended.newest()
        for first in range(0, len(newest), CHUNK):
            chunk = _results(self._strategy, newest[first : first + CHUNK])
            if self._posted(f"{run_id}/measured_results", chunk) is None:
                self._ended = None  # the rest is sent at the end
                return

    def _posted(self, path: str, content: dict[str, Any]) -> Any:
        try:
            return post(f"{self._base}/{path}", content, self._key, _PATIENCE_S)
        except HmsError as error:
            self.problem = error
            return None


def _results(strategy: str, ended: Sequence[EndedTask]) -> dict[str, Any]:
    return {
        "scheduler": strategy,
        "source": "measured",
        "rows": [one.row for one in ended],
        "place": [one.place for one in ended],
        "start_s": [max(one.start_s, 0.0) for one in ended],
        "finish_s": [max(one.finish_s, 0.0) for one in ended],
    }
