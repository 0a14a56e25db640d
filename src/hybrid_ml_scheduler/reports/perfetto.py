"""A run as a Chrome trace that Perfetto opens: a process a strategy, a lane a device, a slice a part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.workload.files import open_for_writing

__all__ = ["TRACE_BEGIN", "TRACE_END", "Slice", "TraceWriter", "lane_events", "slice_event"]

TRACE_BEGIN, TRACE_END = '{"displayTimeUnit":"ms","traceEvents":[\n', "\n]}\n"
_MICROSECONDS = 1e6


class Slice(NamedTuple):
    """A part of a task on the lane of its device."""

    lane: int
    task_id: int
    start_s: float
    finish_s: float
    label: str = ""


class TraceWriter:
    """Writes one strategy after the other; the file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._context = open_for_writing(path)
        self._file: IO[str]
        self._strategies = 0
        self._first = True

    def __enter__(self) -> TraceWriter:
        self._file = self._context.__enter__()
        self._file.write(TRACE_BEGIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._file.write(TRACE_END)
        self._context.__exit__(kind, error, trace)

    def add(self, name: str, batch: TaskBatch, columns: RunColumns) -> None:
        """Add all parts of one strategy's run."""
        self._strategies += 1
        for event in _events(self._strategies, name, batch, columns):
            self._file.write("" if self._first else ",\n")
            self._file.write(json.dumps(event, separators=(",", ":")))
            self._first = False


def lane_events(process: int, name: str, devices: Sequence[str]) -> Iterator[dict[str, object]]:
    """Name a strategy's process and the lane of each of its devices."""
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
    for lane, device in enumerate(devices):
        yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_name", "args": {"name": device}}
        yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_sort_index", "args": {"sort_index": lane}}


def slice_event(process: int, part: Slice, facts: Mapping[str, object]) -> dict[str, object]:
    """Return a part as an event, with what is to be said about its task."""
    begin = round(part.start_s * _MICROSECONDS, 3)
    return {
        "ph": "X",
        "pid": process,
        "tid": part.lane,
        "ts": begin,
        # Rounding both ends alike keeps neighbours on a lane from overlapping.
        "dur": round(round(part.finish_s * _MICROSECONDS, 3) - begin, 3),
        "name": f"task {part.label or part.task_id}",
        "args": dict(facts),
    }


def _events(process: int, name: str, batch: TaskBatch, columns: RunColumns) -> Iterator[dict[str, object]]:
    yield from lane_events(process, name, columns.node.device_names)
    lanes = {device: lane for lane, device in enumerate(columns.node.device_names)}
    for row in range(len(columns)):
        facts = {
            "gpu_fraction": float(columns.gpu_fraction[row]),
            "size": float(batch.size[row]),
            "intensity": float(batch.compute_intensity[row]),
            "latency_s": float(columns.finish_s[row] - columns.arrival_s[row]),
        }
        for device, start, finish in columns.parts(row):
            identity, label = int(batch.task_id[row]), batch.label(row)
            part = Slice(lane=lanes[device], task_id=identity, start_s=start, finish_s=finish, label=label)
            yield slice_event(process, part, facts)
