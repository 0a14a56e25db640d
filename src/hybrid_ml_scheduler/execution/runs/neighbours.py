"""Who runs beside a task: what its neighbours' kinds, and a CPU without an idle worker, do to it.

How much slower a task is on a busy machine is first measured with all kinds mixed everywhere. A strategy does not mix
them like that: beside workers that parse text a GPU copies its data faster than on an idle machine, and beside workers
that stream through memory at half that speed. So streams are placed and run as a strategy would, and what the factors
of the mixture leave unexplained is put down to the neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster.interference import change_pace, slowdown
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["Beside", "Neighbours", "RunTimes", "neighbours_of", "no_neighbours", "rescale_beside", "shares_beside"]

FloatTable = np.ndarray[tuple[int, int], np.dtype[np.float64]]

# How firmly each term is held at 0: like so many tasks that saw nothing of it.
_HOLD_OWN, _HOLD_BESIDE, _HOLD_FULL = 10.0, 4.0, 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """What a device's tasks are slower by (logarithms), beyond the factors of a mixture of all kinds.

    `own` belongs to the kind and size of the task (`kind:size`, or the kind alone), `on_cpu` and `elsewhere` to a kind
    that all CPU workers, or all other devices, run beside it; `full` counts while no CPU worker is idle.
    """

    own: Mapping[str, float]
    on_cpu: Mapping[str, float]
    elsewhere: Mapping[str, float]
    full: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTimes:
    """When and where the tasks of a run ran: `kind` is a code, `is_cpu` says which class of devices."""

    kind: IntColumn
    is_cpu: np.ndarray[tuple[int], np.dtype[np.bool_]]
    start_s: FloatColumn
    finish_s: FloatColumn


class Beside(NamedTuple):
    """For each task, as means over its time, who runs beside it.

    The share of CPU workers, then of other devices, that run each kind; whether any other device is busy; and whether
    no CPU worker is idle (0 where there is only one).
    """

    shares: FloatTable
    elsewhere: FloatColumn
    full: FloatColumn


def no_neighbours(kinds: Sequence[str]) -> Neighbours:
    """Nothing beyond the factors."""
    nothing = dict.fromkeys(kinds, 0.0)
    return Neighbours(own={}, on_cpu=nothing, elsewhere=nothing, full=0.0)


def shares_beside(times: RunTimes, kinds: int, slots: int, others: int) -> Beside:
    """Who ran beside each task; a pause between two tasks counts as idle here and as busy in the model: it is short."""
    moments = np.unique(np.concatenate([times.start_s, times.finish_s]))
    first, last = (np.searchsorted(moments, edge) for edge in (times.start_s, times.finish_s))
    lasting_s = np.maximum(times.finish_s - times.start_s, 1e-12)

    def mean_over(values: FloatColumn) -> FloatColumn:
        """The mean of what holds from each moment to the next, over every task's time."""
        summed = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(moments))])
        found: FloatColumn = (summed[last] - summed[first]) / lasting_s
        return found

    def running(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FloatColumn:
        begun = np.searchsorted(np.sort(times.start_s[mask]), moments, side="right")
        ended = np.searchsorted(np.sort(times.finish_s[mask]), moments, side="right")
        return (begun - ended).astype(np.float64)

    shares = np.zeros((len(times.kind), 2 * kinds))
    for column in range(2 * kinds):
        on_cpu, kind = column < kinds, column % kinds
        mine = (times.is_cpu == on_cpu) & (times.kind == kind)
        if mine.any():
            beside = mean_over(running(mine)) - mine
            shares[:, column] = np.maximum(beside, 0.0) / (slots if on_cpu else max(others, 1))
    elsewhere = mean_over((running(~times.is_cpu) >= 1.0).astype(np.float64))
    full = mean_over((running(times.is_cpu) >= slots).astype(np.float64)) if slots > 1 else np.zeros(len(times.kind))
    return Beside(shares, elsewhere, full)


def neighbours_of(
    kinds: Sequence[str],
    cases: Sequence[str],
    case: IntColumn,
    shares: FloatTable,
    full: FloatColumn,
    excess: FloatColumn,
) -> Neighbours:
    """Least squares, each term held at 0 until tasks say otherwise; `excess` (logarithms) is what the factors leave.

    `case` is the place of each task's kind and size among `cases`.
    """
    own, count = len(cases), len(kinds)
    table = np.concatenate([np.eye(own)[case], shares, full[:, None]], axis=1)
    hold = np.repeat([_HOLD_OWN, _HOLD_BESIDE, _HOLD_FULL], [own, 2 * count, 1])
    found = np.linalg.solve(table.T @ table + np.diag(hold), table.T @ excess).tolist()
    seen = set(case.tolist())
    return Neighbours(
        own={name: found[place] for place, name in enumerate(cases) if place in seen},
        on_cpu=dict(zip(kinds, found[own : own + count], strict=True)),
        elsewhere=dict(zip(kinds, found[own + count : own + 2 * count], strict=True)),
        full=found[-1],
    )


@compiled()
def rescale_beside(
    moment: float,
    slots: int,
    row: IntColumn,
    left: FloatColumn,
    slower: FloatColumn,
    since: FloatColumn,
    case: IntColumn,
    kind: IntColumn,
    device: IntColumn,
    cpu_factor: FloatColumn,
    gpu_factor: FloatColumn,
    within_factor: FloatColumn,
    own: FloatTable,
    terms: FloatTable,
) -> None:
    """Give every running task its present slowdown; what is left is only touched where that changes.

    `case` and `kind` are by row, `device` by server. Of the `Neighbours` of each device `own` has a line by case, and
    `terms` one with those on the CPU, elsewhere and full.
    """
    servers, kinds = row.shape[0], (terms.shape[1] - 1) // 2
    beside = np.zeros(2 * kinds)
    busy_cpu, busy_others = 0, 0
    for server in range(servers):
        if row[server] >= 0:
            if server < slots:
                busy_cpu += 1
                beside[kind[row[server]]] += 1.0 / slots
            else:
                busy_others += 1
                beside[kinds + kind[row[server]]] += 1.0 / (servers - slots)
    for server in range(servers):
        if row[server] < 0:
            continue
        mine, code, line = case[row[server]], kind[row[server]], terms[device[server]]
        extra = own[device[server], mine]
        for column in range(2 * kinds):
            extra += line[column] * beside[column]
        extra -= line[code] / slots if server < slots else line[kinds + code] / (servers - slots)
        if slots > 1 and busy_cpu == slots:
            extra += line[2 * kinds]
        present = math.exp(extra) * slowdown(
            server < slots, cpu_factor[mine], gpu_factor[mine], within_factor[mine], busy_cpu, slots, busy_others
        )
        change_pace(server, present, moment, left, slower, since)
