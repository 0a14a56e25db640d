"""The node in motion: parts of tasks around now, how many wait, and when each device will be free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, held_gpus
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.wire.motion import NodeMotion, Parts, StrategyMotion
from hybrid_ml_scheduler.storage import MEASURED, PartRow, PartsAroundNow, QueueRow, RunRecord

__all__ = ["STEPS", "node_motion", "promised_work"]

STEPS = 60
_MOST_PARTS = 3000


def node_motion(run: RunRecord, found: PartsAroundNow, schedulers: Sequence[str], seconds: float) -> NodeMotion:
    """Return the devices of each strategy from `seconds` before the last arrival to as long after it.

    Of a real run what is stored has ended: its devices are seen until their last finish.
    """
    devices, now_s = list(stored_plan(run.plan).node.device_names), found.now_s
    end_s = now_s + seconds
    if run.state == MEASURED:  # nothing is promised any more, and a plan has a GPU where the machine has none
        devices, end_s = devices[: len(run.controls["places"])], now_s
    times = np.linspace(max(0.0, now_s - seconds), now_s, STEPS + 1)
    return NodeMotion(
        run_id=run.run_id,
        now_s=now_s,
        begin_s=float(times[0]),
        end_s=end_s,
        devices=devices,
        times_s=times.tolist(),
        strategies=[_strategy(name, found, len(devices), times, end_s) for name in schedulers],
        is_complete=found.reaches_back,
    )


def _strategy(name: str, found: PartsAroundNow, devices: int, times: FloatColumn, end_s: float) -> StrategyMotion:
    now_s = found.now_s
    device, task_id, begin, end = _columns([row for row in found.rows if row.scheduler_name == name])
    inside = np.flatnonzero((end > times[0]) & (begin < end_s))
    kept = inside[np.argsort(np.abs(begin[inside] - now_s), kind="stable")[:_MOST_PARTS]]
    kept = kept[np.argsort(begin[kept], kind="stable")]
    queues = [row for row in found.queues if row.scheduler_name == name]
    waiting_now, free_in_s = _queues(queues, devices, now_s)
    joined = np.zeros(len(times), dtype=np.int64)
    for row in found.changes:
        if row.scheduler_name == name:
            joined[min(row.step, len(times) - 1)] += row.joined
    # Backwards from now: who became ready since did not wait yet, and who began since still did.
    waiting = sum(row.cpu_waiting + row.gpu_waiting for row in queues) - (joined.sum() - np.cumsum(joined))
    return StrategyMotion(
        scheduler=name,
        parts=Parts(
            device=device[kept].tolist(),
            task_id=task_id[kept].tolist(),
            begin_s=begin[kept].tolist(),
            end_s=end[kept].tolist(),
        ),
        left_out=len(inside) - len(kept) + found.unread.get(name, 0),
        waiting=waiting.tolist(),
        waiting_now=waiting_now.tolist(),
        free_in_s=free_in_s.tolist(),
    )


def _queues(rows: Sequence[QueueRow], devices: int, now_s: float) -> tuple[IntColumn, FloatColumn]:
    """Return for each device how many parts wait, and in how many seconds it will be free."""
    waiting, end_s = np.zeros(devices, dtype=np.int64), np.full(devices, now_s)
    for row in rows:
        waiting[0] += row.cpu_waiting
        end_s[0] = max(end_s[0], row.cpu_end or 0.0)
        for gpu in held_gpus(row.gpu_id, row.device):
            waiting[gpu + 1] += row.gpu_waiting
            end_s[gpu + 1] = max(end_s[gpu + 1], row.gpu_end or 0.0)
    return waiting, end_s - now_s


def promised_work(rows: Sequence[QueueRow], devices: int) -> tuple[IntColumn, FloatColumn]:
    """Return for each device how many parts run on it now, and how many seconds of work are still ahead of it."""
    running, ahead_s = np.zeros(devices, dtype=np.int64), np.zeros(devices)
    for row in rows:
        running[0] += row.cpu_running
        ahead_s[0] += row.cpu_ahead_s
        for gpu in held_gpus(row.gpu_id, row.device):
            running[gpu + 1] += row.gpu_running
            ahead_s[gpu + 1] += row.gpu_ahead_s
    return running, ahead_s


def _columns(rows: Sequence[PartRow]) -> tuple[IntColumn, IntColumn, FloatColumn, FloatColumn]:
    """Return the parts of the rows: device, task, begin and end; a device that is not used has none."""
    parts = [(place, row.task_id, start, start + seconds) for row in rows for place, start, seconds in row.places()]
    table = np.array(parts, dtype=np.float64).reshape(len(parts), 4)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3]
