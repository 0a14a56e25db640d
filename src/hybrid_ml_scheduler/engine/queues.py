"""Queues of parts: what is promised to each device, what starts, what ends.

Estimates are corrected as parts end: the promises of a queue move with its first part, by as much as that is early or
late, so that however long a queue is, its estimated end is one sum.
"""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.engine.heaps import push_row
from hybrid_ml_scheduler.engine.state import READY, State
from hybrid_ml_scheduler.learning.belief import learn

__all__ = ["append_part", "end_parts", "estimated_end_s", "first_slot", "next_end_s", "release_children", "start_next"]


@compiled(inner=True)
def first_slot(s: State, ends_s: FloatColumn) -> int:
    """The slot of the CPU with the earliest of these moments: device 0, or one of those behind the GPUs."""
    slot = 0
    for other in range(s.devices.gpu_kind.shape[0] + 1, ends_s.shape[0]):
        if ends_s[other] < ends_s[slot]:
            slot = other
    return slot


@compiled(inner=True)
def _first_end_s(s: State, part: int, now: float) -> float:
    """When the first part of a queue is estimated to end."""
    queues = s.queues
    if queues.start_s[part] <= now:
        return max(now, queues.start_s[part] + queues.estimate_s[part])
    return max(now, queues.not_before_s[part]) + queues.estimate_s[part]


@compiled(inner=True, forceinline=True)
def estimated_end_s(s: State, device: int, now: float) -> float:
    """When a device is estimated to be free; without noise that is when it will be."""
    queues = s.queues
    if not s.noisy:
        return max(queues.free_s[device], now)
    part = queues.head[device]
    if part < 0:
        return now
    end = _first_end_s(s, part, now)
    return max(end, queues.promised_s[queues.tail[device]] + (end - queues.promised_s[part]))


@compiled(inner=True, forceinline=True)
def append_part(
    s: State, device: int, part: int, true_s: float, estimate_s: float, not_before_s: float, now: float
) -> None:
    """Queue a part behind what was promised to the device before.

    Promises stay as they were given, so the moment that the part must wait for is set back by what the first part of
    the queue is late.
    """
    queues = s.queues
    head, tail = queues.head[device], queues.tail[device]
    queues.true_s[part], queues.following[part] = true_s, -1
    if s.noisy:
        if head < 0:
            promised = max(now, not_before_s) + estimate_s
        else:
            late = _first_end_s(s, head, now) - queues.promised_s[head]
            promised = max(queues.promised_s[tail], not_before_s - late) + estimate_s
        queues.start_s[part], queues.estimate_s[part] = math.inf, estimate_s
        queues.not_before_s[part], queues.promised_s[part] = not_before_s, promised
    if head < 0:
        queues.head[device] = part
    else:
        queues.following[tail] = part
    queues.tail[device] = part


@compiled(inner=True, forceinline=True)
def _row_of(s: State, part: int) -> int:
    """The row of the task that a part belongs to."""
    own = 2 * s.tasks.identity.shape[0]
    return part >> 1 if part < own else s.queues.gang_row[part - own]


@compiled(inner=True, forceinline=True)
def _start(s: State, device: int, now: float) -> None:
    """The first part of a queue starts."""
    queues, part = s.queues, s.queues.head[device]
    row = _row_of(s, part)
    queues.end_s[device] = now + queues.true_s[part]
    queues.is_running[device] = True
    if s.noisy:
        queues.start_s[part] = now
    if device == 0 or device > s.devices.gpu_kind.shape[0]:
        s.out.cpu_start_s[row] = now
    else:
        s.out.gpu_start_s[row] = now


@compiled(inner=True, forceinline=True)
def start_next(s: State, device: int, now: float) -> None:
    """Let the first part of a queue start, unless it must wait for its part on the CPU or for the rest of its gang."""
    queues = s.queues
    part = queues.head[device]
    if part < 0 or queues.end_s[device] < math.inf:
        return
    if s.devices.serial and 0 < device <= s.devices.gpu_kind.shape[0] and s.progress.cpu_is_open[_row_of(s, part)]:
        return
    if s.has_gangs and 0 < device <= s.devices.gpu_kind.shape[0]:
        row = _row_of(s, part)
        if s.tasks.width[row] > 1:
            _start_gang(s, row, now)
            return
    _start(s, device, now)


@compiled(inner=True)
def _start_gang(s: State, row: int, now: float) -> None:
    """Let a gang start if it is first in the queues of all its GPUs."""
    queues, others = s.queues, s.out.gang
    for place in range(s.tasks.width[row]):
        gpu = s.out.gpu[row] if place == 0 else others[row, place - 1]
        part = queues.head[gpu + 1]
        if part < 0 or _row_of(s, part) != row or queues.end_s[gpu + 1] < math.inf:
            return
    for place in range(s.tasks.width[row]):
        gpu = s.out.gpu[row] if place == 0 else others[row, place - 1]
        _start(s, gpu + 1, now)


@compiled(inner=True, forceinline=True)
def next_end_s(s: State) -> float:
    """When the next part ends; infinite if none runs."""
    end_s, least = s.queues.end_s, math.inf
    for device in range(end_s.shape[0]):
        least = min(least, end_s[device])
    return least


@compiled(inner=True)
def _turn(s: State, device: int) -> int:
    """When the task that runs on a device was decided; what runs from before the run began comes first."""
    if not s.queues.is_running[device]:
        return -1
    return s.progress.turn[_row_of(s, s.queues.head[device])]


@compiled(inner=True, forceinline=True)
def end_parts(s: State, now: float) -> bool:
    """End every part that ends by now, and start what comes next; says whether a device came free of all work."""
    end_s, came_free = s.queues.end_s, False
    while True:
        found = -1
        for device in range(end_s.shape[0]):
            if end_s[device] <= now and (found < 0 or _is_earlier(s, device, found)):
                found = device
        if found < 0:
            return came_free
        came_free = _end(s, found, now) or came_free


@compiled(inner=True, forceinline=True)
def _is_earlier(s: State, device: int, other: int) -> bool:
    """Whether what runs on a device ends before what runs on another, or at the same moment and was decided before."""
    end, other_end = s.queues.end_s[device], s.queues.end_s[other]
    return end < other_end or (end == other_end and _turn(s, device) < _turn(s, other))


@compiled(inner=True, forceinline=True)
def _end(s: State, device: int, now: float) -> bool:
    queues, progress = s.queues, s.progress
    queues.end_s[device] = math.inf
    if queues.is_running[device]:
        queues.is_running[device] = False
        part = queues.head[device]
        row = _row_of(s, part)
        queues.head[device] = queues.following[part]
        progress.open_parts[row] -= 1
        if device == 0 or device > s.devices.gpu_kind.shape[0]:
            progress.cpu_is_open[row] = False
            if s.devices.serial and progress.open_parts[row] > 0:
                start_next(s, s.out.gpu[row] + 1, now)
        if progress.open_parts[row] == 0:
            _finish(s, row, now)
    start_next(s, device, now)
    return queues.head[device] < 0


@compiled(inner=True)
def _finish(s: State, row: int, now: float) -> None:
    """A task has ended: it teaches what it took, and its children may become ready."""
    s.out.finish_s[row] = now
    if s.learns:
        beliefs, ratios = s.beliefs, s.progress.ratios
        if ratios[row, 0] > 0.0:
            learn(
                s.tasks.kind[row], 0, ratios[row, 0], 0.0, beliefs.cells, beliefs.types, beliefs.shared, beliefs.prior
            )
        if ratios[row, 1] > 0.0:
            gpu_type = 1 + s.devices.gpu_kind[s.out.gpu[row]]
            learn(
                s.tasks.kind[row], gpu_type, ratios[row, 1], 0.0, beliefs.cells, beliefs.types, beliefs.shared,
                beliefs.prior,
            )  # fmt: skip
    release_children(s, row, now)


@compiled(inner=True)
def release_children(s: State, row: int, now: float) -> None:
    """A task has ended or failed: queue the children that wait for nothing else; those of a failed task fail too."""
    tasks, progress, ready_s = s.tasks, s.progress, s.out.ready_s
    failed = s.out.status[row] >= FAILED
    for place in range(tasks.child_offsets[row], tasks.child_offsets[row + 1]):
        child = tasks.child_rows[place]
        ready_s[child] = max(ready_s[child], now)
        progress.is_doomed[child] = progress.is_doomed[child] or failed
        progress.open_parents[child] -= 1
        if progress.open_parents[child] == 0:
            progress.counts[READY] = push_row(
                progress.ready_heap, progress.counts[READY], child, ready_s, tasks.identity
            )
