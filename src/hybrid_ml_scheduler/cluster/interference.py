"""Devices that slow each other down: rates change while a part runs, so finishes are events, not a recurrence.

A part on the CPU is slower by `cpu_factor` while any GPU is busy, and by up to `within_factor` as all slots of the CPU
become busy; a part on a GPU is slower by up to `gpu_factor` as they do. Factors belong to the kind of
work. Where all are 1 nothing is ever rescaled, and a finish is start + seconds to the last bit, as in the recurrence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["EventRun", "Interference", "change_pace", "rescale", "run_events"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interference:
    """Factors by kind of work, each at least 1; one number serves every kind."""

    cpu_factor: FloatColumn
    gpu_factor: FloatColumn
    within_factor: FloatColumn

    @classmethod
    def of(cls, cpu: float = 1.0, gpu: float = 1.0, within: float = 1.0, kinds: int = 1) -> Interference:
        """The same three factors for every kind."""
        if not all(1.0 <= factor < math.inf for factor in (cpu, gpu, within)):
            raise PlanError("physics: a factor of interference must be a finite number of at least 1.")
        return cls(cpu_factor=np.full(kinds, cpu), gpu_factor=np.full(kinds, gpu), within_factor=np.full(kinds, within))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventRun:
    """Start and finish of every part; NaN where a task has none."""

    cpu_start_s: FloatColumn
    cpu_finish_s: FloatColumn
    gpu_start_s: FloatColumn
    gpu_finish_s: FloatColumn

    @property
    def finish_s(self) -> FloatColumn:
        """When the later part of each task ended."""
        return np.fmax(self.cpu_finish_s, self.gpu_finish_s)


@compiled(inline="always")
def slowdown(on_cpu: bool, cpu: float, gpu: float, within: float, busy_cpu: int, slots: int, busy_gpus: int) -> float:
    """By how much a running part is slower than alone, given how many slots and GPUs are busy (itself included)."""
    if not on_cpu:
        return 1.0 + (gpu - 1.0) * busy_cpu / slots
    found = cpu if busy_gpus > 0 else 1.0
    if slots > 1 and busy_cpu > 1:
        found *= 1.0 + (within - 1.0) * (busy_cpu - 1) / (slots - 1)
    return found


def run_events(
    ready_s: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    gpu: IntColumn,
    num_gpus: int,
    interference: Interference,
    slots: int = 1,
    kind: IntColumn | None = None,
) -> EventRun:
    """Serve decided tasks first-in first-out: parts of `cpu_s` and `gpu_s` seconds (0: none), in order of readiness."""
    count = len(ready_s)
    columns = [np.full(count, math.nan) for _ in range(4)]
    codes = np.zeros(count, dtype=np.int64) if kind is None else np.ascontiguousarray(kind, dtype=np.int64)
    _serve(
        np.ascontiguousarray(ready_s), np.ascontiguousarray(cpu_s), np.ascontiguousarray(gpu_s),
        np.ascontiguousarray(gpu), codes, num_gpus, slots,
        interference.cpu_factor, interference.gpu_factor, interference.within_factor, *columns,
    )  # fmt: skip
    return EventRun(cpu_start_s=columns[0], cpu_finish_s=columns[1], gpu_start_s=columns[2], gpu_finish_s=columns[3])


@compiled(nogil=True)
def _serve(
    ready_s: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    gpu: IntColumn,
    kind: IntColumn,
    num_gpus: int,
    slots: int,
    cpu_factor: FloatColumn,
    gpu_factor: FloatColumn,
    within_factor: FloatColumn,
    cpu_start: FloatColumn,
    cpu_finish: FloatColumn,
    gpu_start: FloatColumn,
    gpu_finish: FloatColumn,
) -> None:
    """The event loop: the next finish or the next ready task, whichever comes first; finishes first at one instant."""
    count, servers = ready_s.shape[0], slots + num_gpus
    row = np.full(servers, -1)
    left, slower, since = np.zeros(servers), np.ones(servers), np.zeros(servers)
    queue = np.zeros((num_gpus + 1, count), dtype=np.int64)
    head, tail = np.zeros(num_gpus + 1, dtype=np.int64), np.zeros(num_gpus + 1, dtype=np.int64)
    arrived = 0
    while True:
        first, moment = -1, math.inf
        for server in range(servers):
            if row[server] >= 0:
                ends = since[server] + left[server] * slower[server]
                if ends < moment:
                    first, moment = server, ends
        if arrived < count and ready_s[arrived] < moment:
            first, moment = -1, ready_s[arrived]
        if moment == math.inf:
            return
        if first >= 0:
            if first < slots:
                cpu_finish[row[first]] = moment
            else:
                gpu_finish[row[first]] = moment
            row[first] = -1
        else:
            if cpu_s[arrived] > 0.0:
                queue[0, tail[0]] = arrived
                tail[0] += 1
            if gpu_s[arrived] > 0.0:
                line = gpu[arrived] + 1
                queue[line, tail[line]] = arrived
                tail[line] += 1
            arrived += 1
        for server in range(servers):
            line = 0 if server < slots else server - slots + 1
            if row[server] < 0 and head[line] < tail[line]:
                task = queue[line, head[line]]
                head[line] += 1
                row[server], since[server], slower[server] = task, moment, 1.0
                if server < slots:
                    left[server], cpu_start[task] = cpu_s[task], moment
                else:
                    left[server], gpu_start[task] = gpu_s[task], moment
        rescale(moment, slots, row, left, slower, since, kind, cpu_factor, gpu_factor, within_factor)


@compiled()
def change_pace(
    server: int, present: float, moment: float, left: FloatColumn, slower: FloatColumn, since: FloatColumn
) -> None:
    """Let what runs on a server be `present` times as slow as alone from now on; no change touches nothing."""
    if present != slower[server]:
        left[server] = max(left[server] - (moment - since[server]) / slower[server], 0.0)
        since[server], slower[server] = moment, present


@compiled()
def rescale(
    moment: float,
    slots: int,
    row: IntColumn,
    left: FloatColumn,
    slower: FloatColumn,
    since: FloatColumn,
    kind: IntColumn,
    cpu_factor: FloatColumn,
    gpu_factor: FloatColumn,
    within_factor: FloatColumn,
) -> None:
    """Give every running part its present slowdown; what is left is only touched where that changes."""
    busy_cpu, busy_gpus = 0, 0
    for server in range(row.shape[0]):
        if row[server] >= 0:
            if server < slots:
                busy_cpu += 1
            else:
                busy_gpus += 1
    for server in range(row.shape[0]):
        if row[server] < 0:
            continue
        code = kind[row[server]]
        present = slowdown(
            server < slots, cpu_factor[code], gpu_factor[code], within_factor[code], busy_cpu, slots, busy_gpus
        )
        change_pace(server, present, moment, left, slower, since)
