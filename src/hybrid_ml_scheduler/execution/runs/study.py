"""Streams at a load on one machine: strategies by turns, measured and modelled, with what would have been possible."""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster.bounds import Certificate, area_bound_s, certificate
from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.execution.devices import CPU, Device, node_devices
from hybrid_ml_scheduler.execution.placing.estimator import NEVER_S
from hybrid_ml_scheduler.execution.placing.placement import strategy_of
from hybrid_ml_scheduler.execution.runs.calibration import Calibration
from hybrid_ml_scheduler.execution.runs.deciding import decision_seconds
from hybrid_ml_scheduler.execution.runs.kinds import Sizes
from hybrid_ml_scheduler.execution.runs.measured_run import EndedTasks, measure_run, ready_executor
from hybrid_ml_scheduler.execution.runs.measuring import calibrate
from hybrid_ml_scheduler.execution.runs.modelled_run import simulate
from hybrid_ml_scheduler.execution.runs.pinned import FixedByKind, Pinned, Switching
from hybrid_ml_scheduler.execution.runs.placed import as_placed
from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.streams import RealStream, drawn_stream
from hybrid_ml_scheduler.physics.node import Gpu, Node

__all__ = ["Bench", "best_fixed", "bound", "capacity", "slowness", "stream_of_length"]

BEST_FIXED = "best_fixed"
_WARM_UP_TASKS, _DECIDED_TASKS = 300, 1000
# Strategies and loads of the streams that a calibration ends with, their share of its time, and the seed of the first:
# far from those that runs are drawn with.
_PLACED = (
    ("earliest_device", 0.5),
    ("earliest_device", 0.8),
    (BEST_FIXED, 0.8),
    ("earliest_device", 1.0),
    ("hybrid_ml", 1.0),
)
_PLACED_SHARE, _PLACED_SEED = 0.4, 1_000_003


class Bench:
    """One executor: the machine is calibrated on it, then strategy after strategy runs stream after stream.

    A kind may take half as long again in one worker process as in the next, for as long as they live: where in memory
    its arrays come to lie decides that. So what is measured here is best run here.
    """

    def __init__(
        self, sizes: Sizes, max_workers: int | None = None, devices: Sequence[Device | str] | None = None
    ) -> None:
        self._calibration: Calibration | None = None
        self._sizes = sizes
        self._workers = {device.name: device.workers for device in node_devices(max_workers, devices)}
        self._decision_s: dict[str, float] = {}
        self._switch = Switching(strategy_of("cpu_only"))
        self._executor = ready_executor(self._switch, sizes, max_workers, devices)

    @classmethod
    def of(cls, calibration: Calibration, devices: Sequence[Device | str] | None = None) -> Bench:
        """Workers as of a calibration that was made before, on its devices unless others are named."""
        if devices is None:
            devices = [Device(name=name, workers=calibration.devices[name]) for name in calibration.others]
        bench = cls(calibration.sizes, calibration.devices[CPU], devices)
        bench._calibration = calibration
        return bench

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.__exit__(kind, error, trace)  # whoever interrupts a run does not wait for the rest of it

    @property
    def calibration(self) -> Calibration:
        """What is known of the machine: from a file, or measured here."""
        if self._calibration is None:
            raise ProfileError("This executor was not calibrated yet.")
        return self._calibration

    def calibrate(self, seconds: float, say: Callable[[str, int, int], Any] | None = None) -> Calibration:
        """Measure the machine for about so many seconds, and know it from now on."""
        pinned, say = Pinned(0), say or _silent
        self._switch.use(pinned)
        mixed_s = seconds * (1.0 - _PLACED_SHARE)
        self._calibration = known = calibrate(self._executor, pinned, self._sizes, self._workers, mixed_s, say)
        runs = []
        for turn, (name, load) in enumerate(_PLACED):
            say(f"{name} at load {load:g}", turn, len(_PLACED))
            tasks = stream_of_length(known, seconds * _PLACED_SHARE / len(_PLACED), load, _PLACED_SEED + turn)
            runs.append((tasks, self.run(name, tasks)))
        self._calibration = as_placed(known, runs)
        return self._calibration

    def run(
        self,
        name: str,
        tasks: RealStream,
        *,
        knows: bool = True,
        limit_s: float = math.inf,
        watch: Callable[[EndedTasks], None] | None = None,
    ) -> RunResult:
        """Run a stream with a strategy that starts with the calibration's knowledge, or ignorant."""
        self.decision_s(name)
        self._switch.use(make_strategy(name, tasks, self.calibration))
        self._executor.durations.forget()
        if knows:
            self._executor.durations.learn(self.calibration.observations())
        time.sleep(0.2)
        return measure_run(self._executor, tasks, limit_s, watch)

    def decision_s(self, name: str) -> float:
        """How long the strategy takes to decide about a task.

        It decides and learns in the model first: compiling its code is no part of a measurement.
        """
        if name not in self._decision_s:
            few = drawn_stream(self.calibration.sizes, _WARM_UP_TASKS, 0).at_once()
            simulate(few, self.calibration, make_strategy(name, few, self.calibration), knows=False)
            many = drawn_stream(self.calibration.sizes, _DECIDED_TASKS, 0).at_once()
            self._decision_s[name] = decision_seconds(
                make_strategy(name, many, self.calibration), many, self.calibration
            )
        return self._decision_s[name]


def _silent(label: str, done: int, total: int) -> None:
    """Say nothing."""


def make_strategy(name: str, tasks: RealStream, calibration: Calibration) -> Scheduler:
    """A strategy by name; `best_fixed` is the best fixed choice for every kind, in hindsight."""
    return best_fixed(tasks, calibration) if name == BEST_FIXED else strategy_of(name)


def _batch(tasks: RealStream, calibration: Calibration, busy: bool) -> TaskBatch:
    """The stream in the terms of the model: the CPU's workers as one CPU that is so many times as fast."""
    others = [device for device in calibration.devices if device != CPU]
    columns: dict[str, list[float]] = {CPU: [], "other": []}
    for kind, size in zip(tasks.names(), tasks.size.tolist(), strict=True):
        columns[CPU].append(_seconds(calibration, CPU, kind, size, busy) / calibration.devices[CPU])
        columns["other"].append(min((_seconds(calibration, one, kind, size, busy) for one in others), default=NEVER_S))
    return TaskBatch.from_columns(
        size=tasks.size,
        compute_intensity=np.full(len(tasks), 0.5),
        memory_required=np.zeros(len(tasks)),
        arrival_time=tasks.arrival_s,
        cpu_time=columns[CPU],
        gpu_time=columns["other"],
    )


def _seconds(calibration: Calibration, device: str, kind: str, size: float, busy: bool) -> float:
    alone = calibration.seconds(device, kind, size)
    if alone is None:
        return NEVER_S
    return alone * (calibration.busy_factor(device, kind) if busy else 1.0) + calibration.gap_s


def _node(calibration: Calibration) -> Node:
    others = sum(workers for device, workers in calibration.devices.items() if device != CPU)
    return Node(gpus=(Gpu(),) * max(others, 1))


def bound(tasks: RealStream, calibration: Calibration) -> Certificate:
    """What no placement of these tasks on this machine can beat, by their measured times alone."""
    return certificate(_batch(tasks, calibration, busy=False), _node(calibration))


def capacity(tasks: RealStream, calibration: Calibration) -> float:
    """Tasks a second that the machine could at most sustain, by measured times on a busy machine."""
    return len(tasks) / area_bound_s(_batch(tasks, calibration, busy=True), _node(calibration))


def stream_of_length(calibration: Calibration, seconds: float, load: float, seed: int) -> RealStream:
    """A stream that takes about so many seconds at a load; from a load of 1 on all tasks are there at once."""
    sample = drawn_stream(calibration.sizes, 2000, seed)
    rate = capacity(sample, calibration)
    count = max(int(seconds * rate * min(load, 1.0)), 20)
    tasks = drawn_stream(calibration.sizes, count, seed)
    return tasks.at_once() if load >= 1.0 else tasks.at_rate(load * rate)


def best_fixed(tasks: RealStream, calibration: Calibration) -> FixedByKind:
    """Of all fixed choices, kind by kind, the one with the least busy time on the busier class of devices."""
    names = tasks.names()
    others = [device for device in calibration.devices if device != CPU]
    workers = (calibration.devices[CPU], sum(calibration.devices[device] for device in others) or 1)
    totals = {kind: _totals(kind, names, tasks.size.tolist(), calibration, others) for kind in calibration.kinds}
    best: tuple[float, dict[str, bool]] = (float("inf"), {})
    for choice in itertools.product((False, True), repeat=len(calibration.kinds)):
        chosen = dict(zip(calibration.kinds, choice, strict=True))
        on_cpu = sum(totals[kind][0] for kind, away in chosen.items() if not away) / workers[0]
        away_s = sum(totals[kind][1] for kind, away in chosen.items() if away) / workers[1]
        best = min(best, (max(on_cpu, away_s), chosen), key=lambda found: found[0])
    return FixedByKind(best[1])


def _totals(
    kind: str, names: Iterable[str], sizes: Iterable[float], calibration: Calibration, others: list[str]
) -> tuple[float, float]:
    mine = [size for name, size in zip(names, sizes, strict=True) if name == kind]
    on_cpu = sum(_seconds(calibration, CPU, kind, size, True) for size in mine)
    away = sum(min((_seconds(calibration, one, kind, size, True) for one in others), default=NEVER_S) for size in mine)
    return on_cpu, away


def slowness(run: RunResult, tasks: RealStream, calibration: Calibration) -> dict[str, float]:
    """By how much (a logarithm) the tasks of each device took longer than the same tasks do there alone, together."""
    took: dict[str, float] = defaultdict(float)
    alone: dict[str, float] = defaultdict(float)
    devices = [CPU if place == 0 else name.rsplit("_", 1)[0] for place, name in enumerate(run.place_names)]
    rows = zip(
        tasks.names(), tasks.size.tolist(), run.place.tolist(), (run.finish_s - run.start_s).tolist(), strict=True
    )
    for kind, size, place, seconds in rows:
        known_s = calibration.seconds(devices[place], kind, size)
        if known_s is not None and math.isfinite(seconds):
            took[devices[place]] += seconds
            alone[devices[place]] += known_s
    return {device: math.log(took[device] / alone[device]) for device in took}
