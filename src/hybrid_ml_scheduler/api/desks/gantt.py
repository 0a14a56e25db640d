"""What the devices of one strategy did around a task, as it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybrid_ml_scheduler.api.wire.tasks import DeviceInterval, Gantt
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.storage import ResultRow

__all__ = ["gantt_around"]

_LEAST_MARGIN_S = 2.0


def gantt_around(row: ResultRow, around: Sequence[ResultRow], node: Node, *, is_whole: bool) -> Gantt:
    """Return the devices of one strategy from the task's arrival to its finish, with a margin.

    `around` holds the results of tasks near this one; `is_whole` where there are none before them.
    """
    devices = list(node.device_names)
    if row.finish_time is None or row.ready_time is None:
        return Gantt(begin=0.0, end=0.0, devices=devices, intervals=[], is_complete=True)
    margin = max(_LEAST_MARGIN_S, 0.5 * (row.finish_time - row.ready_time))
    begin, end = max(0.0, row.ready_time - margin), row.finish_time + margin
    own = [one for one in around if one.scheduler_name == row.scheduler_name]
    known_from = min((one.ready_time for one in own if one.ready_time is not None), default=0.0)
    return Gantt(
        begin=begin,
        end=end,
        devices=devices,
        intervals=[part for one in own for part in _parts(one) if part.end > begin and part.begin < end],
        is_complete=is_whole or known_from <= begin,
    )


def _parts(row: ResultRow) -> Iterator[DeviceInterval]:
    """Return the parts of a task where they ran; one that has not run has no start."""
    places = (("cpu", row.cpu_start, row.cpu_part), (f"gpu_{row.gpu_id}", row.gpu_start, row.gpu_part))
    for device, start, seconds in places:
        if start is not None and seconds is not None:
            yield DeviceInterval(
                device=device,
                task_id=row.task_id,
                begin=start,
                end=start + seconds,
                gpu_fraction=row.gpu_fraction,
            )
