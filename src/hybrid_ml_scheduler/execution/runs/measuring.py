"""Calibrating: every kind alone on every device, then all CPU workers together, then everything together."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.execution.devices import CPU, usable_core_ids
from hybrid_ml_scheduler.execution.executor import HybridExecutor
from hybrid_ml_scheduler.execution.runs.busy_machine import keep_busy
from hybrid_ml_scheduler.execution.runs.calibration import Calibration, Factor
from hybrid_ml_scheduler.execution.runs.kinds import KINDS, Sizes
from hybrid_ml_scheduler.execution.runs.light_load import LightTask, device_of, light_tasks, rested_factors, waking_s
from hybrid_ml_scheduler.execution.runs.measured_run import short_collections
from hybrid_ml_scheduler.execution.runs.pinned import Pinned
from hybrid_ml_scheduler.execution.work import TaskRecord
from hybrid_ml_scheduler.hardware.machine import cpu_model

__all__ = ["calibrate", "repeated_ids", "this_machine"]

Say = Callable[[str, int, int], Any]
Alone = Mapping[tuple[str, str, int], float]
_Runs = dict[tuple[str, str, int], list[TaskRecord]]
_LEAST_ROUNDS = 2
_QUANTILES = 41
_BLOCK_S = 2.0
# So long a worker that serves its place alone is kept busy without a pause, and so long it takes to wake.
_BURST_S, _WAKING_S = 1.0, 0.3


@dataclass(slots=True)
class _Measuring:
    """The executor under measurement and what was found so far, by device, kind and size.

    `waking_runs` are those before a worker is awake, `repeated_runs` those right behind one of their own kind and size.
    """

    executor: HybridExecutor
    pinned: Pinned
    sizes: Sizes
    devices: dict[str, int]
    alone_runs: _Runs
    waking_runs: _Runs
    repeated_runs: _Runs

    @property
    def alone(self) -> dict[tuple[str, str, int], float]:
        """The geometric mean of what was measured so far: residuals are logarithms, and their mean is 0."""
        runs = {**self.waking_runs, **self.alone_runs}
        return {key: statistics.geometric_mean(one.seconds for one in runs[key]) for key in runs}

    @property
    def repeated(self) -> dict[tuple[str, str, int], float]:
        """How much longer a task takes right behind one of its own kind and size."""
        alone, runs = self.alone, self.repeated_runs
        return {key: statistics.geometric_mean(one.seconds for one in runs[key]) / alone[key] for key in runs}


def calibrate(
    executor: HybridExecutor,
    pinned: Pinned,
    sizes: Sizes,
    workers: Mapping[str, int],
    seconds: float = 30.0,
    say: Say | None = None,
) -> Calibration:
    """Measure an executor that decides by `pinned`, for about so many seconds."""
    say, workers = say or _silent, dict(workers)
    with short_collections():
        state = _Measuring(executor, pinned, sizes, workers, defaultdict(list), defaultdict(list), defaultdict(list))
        _alone(state, seconds * 0.28, say)
        crowds: dict[str, list[TaskRecord]] = {}
        if state.devices[CPU] > 1:
            say("all CPU workers together", 1, 5)
            crowds["within"] = keep_busy(executor, pinned, sizes, workers, seconds * 0.15, with_devices=False)
        say("all devices together", 2, 5)
        crowds["cross"] = keep_busy(executor, pinned, sizes, workers, seconds * 0.22)
        say("alone once more", 3, 5)
        _alone(state, seconds * 0.14, _silent)
        say("lightly loaded", 4, 5)
        light = light_tasks(executor, pinned, sizes, state.alone, _places(state), seconds * 0.21)
    return _calibration(state, crowds, light)


def _silent(label: str, done: int, total: int) -> None:
    """Say nothing."""


def _places(state: _Measuring) -> list[tuple[int, str]]:
    """The first place of every device that has an implementation of any kind."""
    seen: dict[str, int] = {}
    for index, name in enumerate(state.executor.place_names):
        device = CPU if index == 0 else name.rsplit("_", 1)[0]
        if any(device in KINDS[kind].implementations for kind in state.sizes):
            seen.setdefault(device, index)
    return [(index, device) for device, index in seen.items()]


def _alone(state: _Measuring, seconds: float, say: Say) -> None:
    """One task at a time, all kinds and sizes in turn and in a new order each time.

    A kind that follows itself finds its data in the caches, as it never does in a stream of many kinds. And a GPU that
    has rested is up to twice as slow as one that has worked for a while: what a rest costs is measured apart, so a
    worker that serves its place alone gets its tasks one right behind the other, and the first ones count only for
    kinds and sizes that have no others.
    """
    executor, rng = state.executor, stream(0, "execution", "alone")
    cases = [
        (index, device, [(kind, size) for kind in state.sizes for size in state.sizes[kind]
                         if device in KINDS[kind].implementations])
        for index, device in _places(state)
    ]  # fmt: skip
    begun, rounds = executor.now_s(), 0
    while rounds < _LEAST_ROUNDS or executor.now_s() < begun + seconds:
        say(f"every kind and size alone, round {rounds + 1}", int(executor.now_s() - begun), math.ceil(seconds))
        for state.pinned.place, device, mine in cases:
            is_only = device != CPU or state.devices[CPU] == 1
            _burst(state, device, mine, min(_BURST_S, seconds / 8.0) if is_only else None, rng)
        rounds += 1


def _burst(
    state: _Measuring, device: str, cases: list[tuple[str, int]], seconds: float | None, rng: np.random.Generator
) -> None:
    """Every case twice in a row, each waited for; or with `seconds` again and again for so long, and never a pause."""
    executor, before = state.executor, list[Any]()
    first, begun = executor.next_task_id, executor.now_s()
    while executor.next_task_id == first or (seconds is not None and executor.now_s() < begun + seconds):
        futures = []
        for number in np.repeat(rng.permutation(len(cases)), 2).tolist():
            futures.append(executor.submit(KINDS[cases[number][0]], cases[number][1]))
            if seconds is None:
                futures[-1].result()
        wait(before)
        before = futures
    wait(before)
    is_awake_s = begun + min(_WAKING_S, (seconds or 0.0) / 2.0)
    records = [record for record in executor.records() if record.task_id >= first]
    repeats = repeated_ids(records)
    for record in records:
        is_warm = record.started_s >= is_awake_s
        runs = state.alone_runs if is_warm else state.waking_runs
        if record.task_id in repeats:
            if not is_warm:
                continue
            runs = state.repeated_runs
        runs[device, record.kind, int(record.size)].append(record)


def repeated_ids(records: Sequence[TaskRecord]) -> set[int]:
    """The tasks that ran right behind one of their own kind and size on the same worker."""
    last: dict[tuple[str, int], TaskRecord] = {}
    found = set()
    for record in sorted(records, key=lambda one: one.started_s):
        worker = record.place, record.worker
        before = last.get(worker)
        if before is not None and (before.kind, before.size) == (record.kind, record.size):
            found.add(record.task_id)
        last[worker] = record
    return found


def _excesses(state: _Measuring, records: Sequence[TaskRecord]) -> list[float]:
    """Logarithms of measured seconds over seconds alone, of each record."""
    alone, repeated, repeats = state.alone, state.repeated, repeated_ids(records)
    found = []
    for record in records:
        key = (device_of(record), record.kind, int(record.size))
        factor = repeated.get(key, 1.0) if record.task_id in repeats else 1.0
        found.append(math.log(record.seconds / (alone[key] * factor)))
    return found


def _factors(
    records: Sequence[TaskRecord], excesses: Sequence[float], floor: Mapping[str, Factor]
) -> dict[str, dict[str, Factor]]:
    """By device and kind, over what is explained already (`floor`, for the CPU)."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record, excess in zip(records, excesses, strict=True):
        device = device_of(record)
        known = math.log(floor[record.kind].value) if device == CPU and record.kind in floor else 0.0
        groups[device, record.kind].append(excess - known)
    found: dict[str, dict[str, Factor]] = defaultdict(dict)
    for (device, kind), values in groups.items():
        spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.5
        mean = statistics.fmean(values)
        # It may be below 1: a worker that never rests can be quicker than one that is asked now and then.
        found[device][kind] = Factor(value=math.exp(mean), spread=spread, runs=len(values))
    return dict(found)


def _calibration(state: _Measuring, crowds: dict[str, list[TaskRecord]], light: list[LightTask]) -> Calibration:
    alone, among, together = state.alone, crowds.get("within", []), crowds["cross"]
    within = _factors(among, _excesses(state, among), {}).get(CPU, {})
    excesses = _excesses(state, together)
    cross = _factors(together, excesses, within)
    residuals: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    blocks: dict[int, list[float]] = defaultdict(list)
    for record, excess in zip(together, excesses, strict=True):
        device = device_of(record)
        known = math.log(cross[device][record.kind].value)
        known += math.log(within[record.kind].value) if device == CPU and record.kind in within else 0.0
        rest = excess - known
        residuals[device][record.kind].append(rest)
        # Large tasks meet the limits of the memory and small ones do not: each size has what it has.
        residuals[device][f"{record.kind}:{int(record.size)}"].append(rest)
        blocks[int(record.finished_s / _BLOCK_S)].append(rest)
    means = [statistics.fmean(block) for block in blocks.values() if len(block) >= 10]
    levels = np.linspace(0.5 / _QUANTILES, 1.0 - 0.5 / _QUANTILES, _QUANTILES)
    return Calibration(
        machine=this_machine(state.devices),
        devices=state.devices,
        kinds=tuple(state.sizes),
        alone_s=_nested(alone),
        cross=cross,
        within=within,
        residuals={
            device: {kind: tuple(np.quantile(values, levels).tolist()) for kind, values in kinds.items()}
            for device, kinds in residuals.items()
        },
        gap_s=_gap_s(together),
        delay_s=waking_s(light) or _first_delay_s(state),
        repeated=_nested(state.repeated),
        rested=rested_factors(light, alone, cross, within, state.devices[CPU]),
        drift=statistics.stdev(means) if len(means) > 2 else 0.02,
    )


def _first_delay_s(state: _Measuring) -> float:
    """The shortest time from submission to start: for a calibration too short to have a light load."""
    return max(min(one.started_s - one.submitted_s for runs in state.alone_runs.values() for one in runs), 0.0)


def _nested(alone: Alone) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for (device, kind, size), seconds in alone.items():
        found[device][kind][str(size)] = seconds
    return {device: {kind: dict(sizes) for kind, sizes in kinds.items()} for device, kinds in found.items()}


def _gap_s(records: list[TaskRecord]) -> float:
    """The mean pause of a worker between two tasks while others wait, but for the worst twentieth."""
    by_worker: dict[tuple[str, int], list[TaskRecord]] = defaultdict(list)
    for record in records:
        by_worker[record.place, record.worker].append(record)
    gaps = []
    for mine in by_worker.values():
        mine.sort(key=lambda record: record.started_s)
        gaps += [
            later.started_s - earlier.finished_s
            for earlier, later in pairwise(mine)
            if later.submitted_s < earlier.finished_s
        ]
    kept = sorted(max(gap, 0.0) for gap in gaps)[: len(gaps) - len(gaps) // 20]
    return statistics.fmean(kept) if kept else 0.0


def this_machine(devices: Mapping[str, int]) -> dict[str, str]:
    """The machine in words."""
    return {"cpu": cpu_model(), "cores": str(len(usable_core_ids())), "gpu": _gpu_name(devices)}


def _gpu_name(devices: Mapping[str, int]) -> str:
    if "cuda" not in devices:
        return "none"
    import torch

    return str(torch.cuda.get_device_name(0))
