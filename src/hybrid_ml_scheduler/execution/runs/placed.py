"""Streams that were placed as a strategy would: what they say of neighbours and pauses goes into the calibration."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.runs.calibration import Calibration
from hybrid_ml_scheduler.execution.runs.neighbours import FloatTable, RunTimes, neighbours_of, shares_beside
from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.streams import RealStream

__all__ = ["as_placed"]

_LONGEST_GAP_S = 0.01  # a hiccup of the machine in a few seconds says little about how many there are
_Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


class _Table(NamedTuple):
    """Of every task that ran: device, kind and size, who is beside it, and what no factor explains."""

    device: list[str]
    case: list[str]
    shares: FloatTable
    full: FloatColumn
    excess: FloatColumn


def as_placed(calibration: Calibration, runs: Sequence[tuple[RealStream, RunResult]]) -> Calibration:
    """The calibration with what these runs say about neighbours and pauses, for every device."""
    tables = [_table(calibration, tasks, run) for tasks, run in runs]
    cases = sorted({case for table in tables for case in table.case})
    code = {case: place for place, case in enumerate(cases)}
    found = {}
    for device in calibration.devices:
        mine = [np.array([name == device for name in table.device], dtype=bool) for table in tables]
        shares, full, excess = (
            np.concatenate([columns[rows] for columns, rows in zip(each, mine, strict=True)])
            for each in zip(*((table.shares, table.full, table.excess) for table in tables), strict=True)
        )
        case = np.array(
            [
                code[one]
                for table in tables
                for one, name in zip(table.case, table.device, strict=True)
                if name == device
            ],
            dtype=np.int64,
        )
        if len(case):
            found[device] = neighbours_of(runs[0][0].kinds, cases, case, shares, full, excess)
    return replace(calibration, neighbours=found, gaps_s=_gaps_s(runs))


def _gaps_s(runs: Sequence[tuple[RealStream, RunResult]]) -> dict[str, float]:
    """The mean pause of each device's workers between two tasks of which the later one waited.

    Where all tasks are there at once, workers first wait for them to be submitted: those streams say nothing here.
    """
    gaps = defaultdict(list)
    for _, run in (one for one in runs if one[1].arrival_s[-1] > 0.0):
        free_s: dict[tuple[int, int], float] = {}
        for task in np.argsort(run.start_s, kind="stable")[: len(run.start_s) - run.unfinished].tolist():
            place = int(run.place[task])
            server = (place, int(run.worker[task]))
            before_s = free_s.get(server)
            if before_s is not None and run.arrival_s[task] < before_s:
                gaps[_device(run, place)].append(min(max(float(run.start_s[task]) - before_s, 0.0), _LONGEST_GAP_S))
            free_s[server] = float(run.finish_s[task])
    return {device: statistics.fmean(values) for device, values in gaps.items()}


def _device(run: RunResult, place: int) -> str:
    return CPU if place == 0 else run.place_names[place].rsplit("_", 1)[0]


def _table(calibration: Calibration, tasks: RealStream, run: RunResult) -> _Table:
    ran = np.flatnonzero(np.isfinite(run.finish_s))
    slots = calibration.devices[CPU]
    devices = [_device(run, place) for place in run.place[ran].tolist()]
    is_cpu, kind = run.place[ran] == 0, np.ascontiguousarray(tasks.kind[ran])
    times = RunTimes(kind=kind, is_cpu=is_cpu, start_s=run.start_s[ran], finish_s=run.finish_s[ran])
    beside = shares_beside(times, len(tasks.kinds), slots, sum(calibration.devices.values()) - slots)
    on_cpu = beside.shares[:, : len(tasks.kinds)].sum(axis=1) * slots + is_cpu
    rested, repeated = _before(tasks, run, ran)
    excess, cases = np.empty(len(ran)), []
    for row, (task, device) in enumerate(zip(ran.tolist(), devices, strict=True)):
        name, size = tasks.kinds[int(tasks.kind[task])], float(tasks.size[task])
        cases.append(f"{name}:{int(size)}")
        known_s = calibration.seconds(device, name, size) or math.nan
        known_s *= _mixed(calibration, device, name, int(size), float(on_cpu[row]), float(beside.elsewhere[row]))
        known_s *= calibration.rested_factor(device, name) if rested[row] else 1.0
        known_s *= calibration.repeat_factor(device, name, size) if repeated[row] else 1.0
        excess[row] = math.log((run.finish_s[task] - run.start_s[task]) / known_s)
    return _Table(devices, cases, beside.shares, beside.full, excess)


def _mixed(calibration: Calibration, device: str, kind: str, size: int, on_cpu: float, elsewhere: float) -> float:
    """By how much a task is slower beside so many busy workers, if they run a mixture of all kinds: as in the model."""
    table = CPU if device == CPU else calibration.others[0]
    cross = calibration.cross.get(table, {}).get(kind)
    within = calibration.within.get(kind)
    slots, own = calibration.devices[CPU], math.exp(calibration.size_excess(table, kind, size))
    factor = 1.0 if cross is None else cross.value
    if device != CPU:
        return 1.0 + (factor * own - 1.0) * min(on_cpu / slots, 1.0)
    inside = 1.0 if within is None else within.value
    if slots > 1:
        inside = 1.0 + (inside * own - 1.0) * min(max(on_cpu - 1.0, 0.0) / (slots - 1), 1.0)
        own = 1.0
    return inside * (1.0 + (factor * own - 1.0) * min(elsewhere, 1.0))


def _before(tasks: RealStream, run: RunResult, ran: _Rows) -> tuple[list[bool], list[bool]]:
    """Whether the worker of each task had nothing to do when it came, and had last run one of its kind and size."""
    last: dict[tuple[int, int], tuple[float, tuple[int, float]]] = {}
    rested, repeated = [False] * len(ran), [False] * len(ran)
    for row in np.argsort(run.start_s[ran], kind="stable").tolist():
        task = int(ran[row])
        server, case = (int(run.place[task]), int(run.worker[task])), (int(tasks.kind[task]), float(tasks.size[task]))
        free_s, case_before = last.get(server, (-math.inf, None))
        rested[row], repeated[row] = free_s <= run.arrival_s[task], case_before == case
        last[server] = float(run.finish_s[task]), case
    return rested, repeated
