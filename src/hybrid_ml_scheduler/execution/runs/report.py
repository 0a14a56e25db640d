"""Measured runs in words and files: tables, JSON, CSV and a Perfetto trace."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.streams import RealStream
from hybrid_ml_scheduler.execution.runs.validation import Comparison

__all__ = ["markdown", "write_comparisons", "write_json", "write_tasks", "write_trace"]

_MICROSECONDS = 1e6


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys as a Markdown table; numbers with four digits."""
    if not rows:
        return ""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_shown(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_comparisons(path: Path, rows: Sequence[Comparison]) -> None:
    """Every real run beside its prediction, as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Comparison._fields, "error"])
        writer.writerows([*row, row.error] for row in rows)


def write_tasks(path: Path, tasks: RealStream, runs: Sequence[RunResult]) -> None:
    """Every task of every run, as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["run", "source", "strategy", "task_id", "kind", "size", "place", "arrival_s", "start_s", "finish_s"]
        )
        for number, run in enumerate(runs):
            columns = (tasks.size, run.place, run.arrival_s, run.start_s, run.finish_s)
            rows = zip(tasks.names(), *(column.tolist() for column in columns), strict=True)
            for task_id, (kind, size, place, *times) in enumerate(rows):
                writer.writerow([number, run.source, run.strategy, task_id, kind, size, run.place_names[place], *times])


def write_trace(path: Path, tasks: RealStream, runs: Sequence[RunResult]) -> None:
    """A Chrome trace that Perfetto opens: a process a run, a lane a worker."""
    events: list[dict[str, Any]] = []
    for number, run in enumerate(runs, start=1):
        title = f"{run.strategy} ({run.source})"
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": {"name": title}})
        lanes = sorted(set(zip(run.place.tolist(), run.worker.tolist(), strict=True)))
        for lane, (place, _) in enumerate(lanes):
            name = {"name": run.place_names[place]}
            events.append({"ph": "M", "pid": number, "tid": lane, "name": "thread_name", "args": name})
        events += _slices(number, tasks, run, lanes)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps({"displayTimeUnit": "ms", "traceEvents": events}), encoding="utf-8")
    part.replace(path)


def _slices(number: int, tasks: RealStream, run: RunResult, lanes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    found = []
    for row, kind in enumerate(tasks.names()):
        if not np.isfinite(run.finish_s[row]):
            continue
        begin = round(float(run.start_s[row]) * _MICROSECONDS, 3)
        found.append(
            {
                "ph": "X",
                "pid": number,
                "tid": lanes.index((int(run.place[row]), int(run.worker[row]))),
                "ts": begin,
                "dur": round(round(float(run.finish_s[row]) * _MICROSECONDS, 3) - begin, 3),
                "name": kind,
                "args": {"task": row, "size": float(tasks.size[row]), "latency_s": float(run.latency_s[row])},
            }
        )
    return found
