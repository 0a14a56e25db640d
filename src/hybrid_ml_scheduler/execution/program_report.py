"""A report on the executors of a user's program: `hms run script.py` asks for it through the environment.

Where the program is followed, an executor also writes down every half second what has ended since: a line that says
what it is, then a line for each task.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = [
    "FOLLOW_VARIABLE",
    "LIVE_FILES",
    "REPORT_VARIABLE",
    "LiveReport",
    "live_report",
    "read_reports",
    "summary_rows",
    "write_report",
]

REPORT_VARIABLE, FOLLOW_VARIABLE = "HMS_RUN_REPORT", "HMS_RUN_FOLLOW"
LIVE_FILES = "executor-*.live"
_EVERY_S = 0.5
_numbers = itertools.count()


class LiveReport:
    """A thread that appends what has ended to a file, until it is stopped."""

    def __init__(self, path: Path, head: Mapping[str, Any], latest: Callable[[int], list[TaskRecord]]) -> None:
        self._file, self._latest, self._seen = path.open("w", encoding="utf-8"), latest, 0
        self._file.write(json.dumps(head) + "\n")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="hms-report", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            self._write()

    def _write(self) -> None:
        newest = self._latest(self._seen)
        self._seen += len(newest)
        self._file.writelines(json.dumps(list(record)) + "\n" for record in newest)
        self._file.flush()

    def stop(self) -> None:
        """Write the rest."""
        self._stopping.set()
        self._thread.join()
        self._write()
        self._file.close()


def live_report(
    strategy: str, devices: Mapping[str, int], places: Sequence[str], latest: Callable[[int], list[TaskRecord]]
) -> LiveReport | None:
    """Begin to write down what an executor does, where somebody follows the program."""
    folder = os.environ.get(REPORT_VARIABLE)
    if not folder or not os.environ.get(FOLLOW_VARIABLE) or "HMS_DEVICE" in os.environ:
        return None
    head = {"strategy": strategy, "devices": dict(devices), "places": list(places)}
    return LiveReport(Path(folder) / f"executor-{os.getpid()}-{next(_numbers)}.live", head, latest)


def write_report(strategy: str, places: Sequence[str], records: Sequence[TaskRecord]) -> None:
    """Write what an executor did into the folder that the environment names, if it names one."""
    folder = os.environ.get(REPORT_VARIABLE)
    if not folder or "HMS_DEVICE" in os.environ or not records:
        return
    content = {"strategy": strategy, "places": list(places), "records": [list(record) for record in records]}
    path = Path(folder) / f"executor-{os.getpid()}-{next(_numbers)}.json"
    path.write_text(json.dumps(content), encoding="utf-8")


def read_reports(folder: Path) -> list[dict[str, Any]]:
    """All reports of a program, in the order of their files."""
    found = []
    for path in sorted(folder.glob("executor-*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        content["records"] = [TaskRecord(*record) for record in content["records"]]
        found.append(content)
    return found


def summary_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each kind and place: how many tasks, how long they ran and waited, how good the belief was."""
    groups: dict[tuple[str, str], list[TaskRecord]] = defaultdict(list)
    for record in report["records"]:
        groups[record.kind, record.place].append(record)
    rows = []
    for (kind, place), mine in sorted(groups.items()):
        done = [record for record in mine if record.state == "done"]
        count = max(len(done), 1)
        rows.append(
            {
                "kind": kind,
                "place": place,
                "tasks": len(mine),
                "done": len(done),
                "mean_s": sum(record.seconds for record in done) / count,
                "mean_latency_s": sum(record.latency_s for record in done) / count,
                "believed_s": sum(record.predicted_s for record in done) / count,
            }
        )
    return rows
