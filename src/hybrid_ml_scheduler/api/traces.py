"""Stored parts of tasks as a Chrome trace, made while it is sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence

from hybrid_ml_scheduler.reports.perfetto import TRACE_BEGIN, TRACE_END, Slice, lane_events, slice_event
from hybrid_ml_scheduler.service.devices import DeviceParts
from hybrid_ml_scheduler.storage import PartRow

__all__ = ["trace_file"]


async def trace_file(found: DeviceParts) -> AsyncIterator[bytes]:
    """Yield the whole file, one strategy after the other."""
    yield TRACE_BEGIN.encode()
    comma = ""
    for process, (name, pages) in enumerate(found.strategies.items(), start=1):
        for event in lane_events(process, name, found.devices):
            yield f"{comma}{json.dumps(event, separators=(',', ':'))}".encode()
            comma = ",\n"
        async for rows in pages:
            text = "".join(f"{comma}{json.dumps(event, separators=(',', ':'))}" for event in _events(process, rows))
            yield text.encode()
    yield TRACE_END.encode()


def _events(process: int, rows: Sequence[PartRow]) -> Iterator[dict[str, object]]:
    for row in rows:
        facts = {"gpu_fraction": row.gpu_fraction, "latency_s": row.latency, "ready_s": row.ready_time}
        places = ((0, row.cpu_start, row.cpu_part), (row.gpu_id + 1, row.gpu_start, row.gpu_part))
        for lane, start, seconds in places:
            if start is not None and seconds > 0.0:
                part = Slice(lane=lane, task_id=row.task_id, start_s=start, finish_s=start + seconds)
                yield slice_event(process, part, facts)
