"""A program of one's own as a run: what its executors write down, sent to a service while it runs, or stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.cli.real_storing import CHUNK, RESULTS, TASKS, post
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.execution.program_report import LIVE_FILES
from hybrid_ml_scheduler.execution.runs.measuring import this_machine
from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = ["FollowedExecutor", "ProgramFollower", "read_executors"]

_EVERY_S = 0.5
_PATIENCE_S = 5.0
# Nobody knows beforehand how many tasks a program has.
_ROOM = 1_000_000


class FollowedExecutor:
    """What one executor of a program has written down so far; a task's number is its place in the file."""

    def __init__(self, path: Path, program: str) -> None:
        self._path, self._program, self._offset = path, program, 0
        self._head: dict[str, Any] = {}
        self.records: list[TaskRecord] = []
        self.run_id: int | None = None
        self.sent = 0

    def read(self) -> None:
        """Take in what was written since; a line that is not complete yet waits for the next time."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, _, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            content = json.loads(line)
            if isinstance(content, dict):
                self._head = content
            else:
                self.records.append(TaskRecord(*content))

    def document(self) -> dict[str, Any]:
        """The run as it begins."""
        devices = self._head["devices"]
        return {
            "name": _printable(f"{self._program}, {self._head['strategy']}"[:120]),
            "tasks": min(max(len(self.records), 1), _ROOM),
            "room": _ROOM,
            "machine": this_machine(devices),
            "devices": devices,
        }

    def pieces(self, first: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Tasks and results from a number on, in pieces; beyond its room nothing is sent."""
        places = {name: index for index, name in enumerate(self._head["places"])}
        for begin in range(first, min(len(self.records), _ROOM), CHUNK):
            mine = self.records[begin : min(begin + CHUNK, _ROOM)]
            done = [one.state == "done" for one in mine]
            yield (
                TASKS,
                {
                    "first": begin,
                    "kind": [_printable(one.kind[:120]) for one in mine],
                    "size": [max(one.size, 0.0) for one in mine],
                    "arrival_s": [max(one.submitted_s, 0.0) for one in mine],
                },
            )
            yield (
                RESULTS,
                {
                    "scheduler": self._head["strategy"],
                    "source": "measured",
                    "first": begin,
                    "place": [places[one.place] for one in mine],
                    "start_s": [
                        max(one.started_s, 0.0) if fine else None for one, fine in zip(mine, done, strict=True)
                    ],
                    "finish_s": [
                        max(one.finished_s, 0.0) if fine else None for one, fine in zip(mine, done, strict=True)
                    ],
                },
            )


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)


def read_executors(folder: Path, program: str) -> list[FollowedExecutor]:
    """Every executor of a program that has ended, with all that it wrote."""
    found = [FollowedExecutor(path, program) for path in sorted(folder.glob(LIVE_FILES))]
    for one in found:
        one.read()
    return [one for one in found if one.records]


class ProgramFollower:
    """A thread that sends what executors write down; the program never waits for it.

    A service that does not answer is not asked again: `problem` says why.
    """

    def __init__(self, folder: Path, program: str, service: str, key: str | None = None) -> None:
        self._folder, self._program, self._key = folder, program, key
        self._base = service.rstrip("/") + "/api/runs"
        self._known: dict[Path, FollowedExecutor] = {}
        self._stopping = threading.Event()
        self.problem: HmsError | None = None
        self._thread = threading.Thread(target=self._serve, name="hms-follow", daemon=True)
        self._thread.start()

    def stop(self) -> Sequence[int]:
        """Send the rest and the end of every run; returns their ids."""
        self._stopping.set()
        self._thread.join()
        self._look()
        ids = [one.run_id for one in self._known.values() if one.run_id is not None]
        for run_id in ids:
            self._post(f"{run_id}/measured_end", {"meters": "not read for a program of one's own"})
        return ids

    def _serve(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        for path in sorted(self._folder.glob(LIVE_FILES)):
            one = self._known.setdefault(path, FollowedExecutor(path, self._program))
            one.read()
            if len(one.records) > one.sent and self.problem is None:
                self._send(one)

    def _send(self, one: FollowedExecutor) -> None:
        if one.run_id is None:
            card = self._post("measured", {**one.document(), "is_running": True})
            one.run_id = None if card is None else int(card["run_id"])
        for path, document in one.pieces(one.sent):
            if self._post(f"{one.run_id}/{path}", document) is None:
                return
        one.sent = len(one.records)

    def _post(self, path: str, content: dict[str, Any]) -> Any:
        if self.problem is not None:
            return None
        try:
            return post(f"{self._base}/{path}", content, self._key, _PATIENCE_S)
        except HmsError as error:
            self.problem = error
            return None
