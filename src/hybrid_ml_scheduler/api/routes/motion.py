"""The devices of a run: in motion, and as a file for a trace viewer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from hybrid_ml_scheduler.api.dependencies import DevicesDep
from hybrid_ml_scheduler.api.routes.history import DownloadResponse, LastTask
from hybrid_ml_scheduler.reports.perfetto import TRACE_BEGIN, TRACE_END, Slice, lane_events, slice_event
from hybrid_ml_scheduler.service.devices import DeviceParts
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.common import StrategyName
from hybrid_ml_scheduler.service.wire.motion import NodeMotion
from hybrid_ml_scheduler.storage import PartRow

__all__ = ["router", "trace_file"]

router = APIRouter(prefix="/api", tags=["history"], responses=problem_responses(404, 503))

Chosen = Annotated[
    list[StrategyName], Query(alias="scheduler", min_length=1, max_length=4, description="Up to four strategies.")
]
RunId = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="The present run where it is left out.")]


@router.get("/node", response_model=NodeMotion)
async def node(
    devices: DevicesDep,
    chosen: Chosen,
    seconds: Annotated[float, Query(ge=1, le=2e7, description="Simulated seconds before and after now.")] = 30.0,
    run_id: RunId = None,
    last_task: LastTask = None,
) -> Response:
    """Return what runs and waits on every device of some strategies, around the last arrival."""
    return Response(await devices.node(chosen, seconds, run_id, last_task), media_type="application/json")


_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A Chrome trace.", "content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get("/history/trace", response_class=StreamingResponse, responses=_FILE | problem_responses(404, 503))
async def trace(
    devices: DevicesDep,
    chosen: Chosen,
    tasks: Annotated[int, Query(ge=1, le=100_000, description="How many of the run's newest tasks.")] = 10_000,
    run_id: RunId = None,
) -> StreamingResponse:
    """Download what the devices did as a trace that Perfetto opens (ui.perfetto.dev)."""
    found = await devices.parts(chosen, tasks, run_id)
    disposition = {"Content-Disposition": f'attachment; filename="run-{found.run_id}-trace.json"'}
    return DownloadResponse(trace_file(found), media_type="application/json", headers=disposition)


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
        for lane, start, seconds in row.places():
            part = Slice(lane=lane, task_id=row.task_id, start_s=start, finish_s=start + seconds)
            yield slice_event(process, part, facts)
