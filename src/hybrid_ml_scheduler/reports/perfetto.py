"""A run as a Chrome trace that Perfetto opens: a process a strategy, a lane a device, a slice a part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.workload.files import written

__all__ = ["TraceWriter"]

_MICROSECONDS = 1e6


class TraceWriter:
    """Writes one strategy after the other; the file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._context = written(path)
        self._file: IO[str]
        self._strategies = 0
        self._first = True

    def __enter__(self) -> TraceWriter:
        self._file = self._context.__enter__()
        self._file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._file.write("\n]}\n")
        self._context.__exit__(kind, error, trace)

    def add(self, name: str, batch: TaskBatch, columns: RunColumns) -> None:
        """Add all parts of one strategy's run."""
        self._strategies += 1
        for event in _events(self._strategies, name, batch, columns):
            self._file.write("" if self._first else ",\n")
            self._file.write(json.dumps(event, separators=(",", ":")))
            self._first = False


def _events(process: int, name: str, batch: TaskBatch, columns: RunColumns) -> Iterator[dict[str, object]]:
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
    lanes = {device: lane for lane, device in enumerate(columns.node.device_names)}
    for device, lane in lanes.items():
        yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_name", "args": {"name": device}}
        yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_sort_index", "args": {"sort_index": lane}}
    for row in range(len(columns)):
        for device, start, finish in columns.parts(row):
            yield _slice(process, lanes[device], start, finish, batch, columns, row)


def _slice(
    process: int, lane: int, start: float, finish: float, batch: TaskBatch, columns: RunColumns, row: int
) -> dict[str, object]:
    begin = round(start * _MICROSECONDS, 3)
    return {
        "ph": "X",
        "pid": process,
        "tid": lane,
        "ts": begin,
        # Rounding both ends alike keeps neighbours on a lane from overlapping.
        "dur": round(round(finish * _MICROSECONDS, 3) - begin, 3),
        "name": f"task {int(batch.task_id[row])}",
        "args": {
            "gpu_fraction": float(columns.gpu_fraction[row]),
            "size": float(batch.size[row]),
            "intensity": float(batch.compute_intensity[row]),
            "latency_s": float(columns.finish_s[row] - columns.arrival_s[row]),
        },
    }
