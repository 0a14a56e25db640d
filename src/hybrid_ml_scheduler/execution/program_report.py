"""A report on the executors of a user's program: `hms run script.py` asks for it through the environment."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = ["REPORT_VARIABLE", "read_reports", "summary_rows", "write_report"]

REPORT_VARIABLE = "HMS_RUN_REPORT"
_numbers = itertools.count()


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
