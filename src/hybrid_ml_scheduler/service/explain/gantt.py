"""What the devices of one strategy did around a task, as it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybrid_ml_scheduler.core import held_gpus
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.service.wire.tasks import DeviceInterval, Gantt
from hybrid_ml_scheduler.storage import ResultRow

__all__ = ["Reach", "gantt_around", "stored_gang"]

_LEAST_MARGIN_S = 2.0


class Reach(NamedTuple):
    """Whether the results at hand begin with the run's first task, and end with its last."""

    is_first: bool
    is_last: bool


def stored_gang(row: ResultRow) -> tuple[int, ...]:
    """The GPUs of a task besides the one that leads, as its device's name says."""
    return held_gpus(row.gpu_id, row.device)[1:]


def gantt_around(row: ResultRow, around: Sequence[ResultRow], node: Node, reach: Reach) -> Gantt:
    """Return the devices of one strategy from the task's arrival to its finish, with a margin.

    `around` holds the results of tasks near this one, and `reach` says how far they go.
    """
    devices = list(node.device_names)
    if row.finish_time is None or row.ready_time is None:
        return Gantt(begin=0.0, end=0.0, devices=devices, intervals=[], is_complete=True)
    margin = max(_LEAST_MARGIN_S, 0.5 * (row.finish_time - row.ready_time))
    begin, end = max(0.0, row.ready_time - margin), row.finish_time + margin
    own = [one for one in around if one.scheduler_name == row.scheduler_name]
    ready = [one.ready_time for one in own if one.ready_time is not None]
    knows_earlier = reach.is_first or min(ready) <= begin
    knows_later = reach.is_last or max(ready) >= end  # what is ready after that cannot begin before
    return Gantt(
        begin=begin,
        end=end,
        devices=devices,
        intervals=[part for one in own for part in _parts(one) if part.end > begin and part.begin < end],
        is_complete=knows_earlier and knows_later,
    )


def _parts(row: ResultRow) -> Iterator[DeviceInterval]:
    """Return the parts of a task where they ran; one that has not run has no start."""
    on_gpus = ((f"gpu_{gpu}", row.gpu_start, row.gpu_part) for gpu in (row.gpu_id, *stored_gang(row)))
    for device, start, seconds in (("cpu", row.cpu_start, row.cpu_part), *on_gpus):
        if start is not None and seconds is not None:
            yield DeviceInterval(
                device=device,
                task_id=row.task_id,
                begin=start,
                end=start + seconds,
                gpu_fraction=row.gpu_fraction,
            )
