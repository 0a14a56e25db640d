"""The same stream in the model: the executor's own placement on a simulated clock, seconds from a calibration."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.execution.devices import CPU, Device, Place, places
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.runs.calibration import Calibration, Factor
from hybrid_ml_scheduler.execution.runs.kinds import KINDS
from hybrid_ml_scheduler.execution.runs.neighbours import rescale_beside
from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.streams import RealStream
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["simulate", "work_of"]

_NOBODY = HybridFuture()


def simulate(
    tasks: RealStream,
    calibration: Calibration,
    strategy: Scheduler,
    *,
    seed: int = 0,
    knows: bool = True,
    uncertain: bool = True,
    levels: Mapping[str, float] | None = None,
    decision_s: float = 0.0,
) -> RunResult:
    """Simulate one run; with `uncertain`, factors, drift and residuals are drawn, otherwise they are at their means.

    `levels` says how much slower (a logarithm) each device is just now than when it was calibrated, `decision_s` how
    long the program takes to decide about a task.
    """
    devices = [Device(name=name, workers=workers) for name, workers in calibration.devices.items()]
    node = places(devices)
    durations = LearnedDurations([place.device for place in node])
    if knows:
        durations.learn(calibration.observations())
    placer = Placer(strategy, node, durations, seed=0)
    rng = stream(seed, "execution", "model") if uncertain else None
    return _Clock(tasks, calibration, placer, node, rng, levels or {}, decision_s).run()


def work_of(tasks: RealStream, row: int, kind: str) -> Work:
    """A task of a stream as an executor would see it."""
    work = Work(_NOBODY, KINDS[kind], (), {})
    work.kind, work.size, work.task_id, work.options = kind, float(tasks.size[row]), row, KINDS[kind].chosen
    return work


class _Clock:
    """Servers with running parts, queues of places, and the order of events."""

    def __init__(
        self,
        tasks: RealStream,
        calibration: Calibration,
        placer: Placer,
        node: tuple[Place, ...],
        rng: np.random.Generator | None,
        levels: Mapping[str, float],
        decision_s: float,
    ) -> None:
        self._tasks, self._calibration, self._placer, self._node = tasks, calibration, placer, node
        self._slots = node[0].workers
        servers = self._slots + len(node) - 1
        self._row, self._last_case = np.full(servers, -1), np.full(servers, -1)
        self._left, self._slower, self._since = np.zeros(servers), np.ones(servers), np.zeros(servers)
        self._queues: list[deque[int]] = [deque() for _ in node]
        self._work: list[Work] = []
        self._reserve = Reserve(placer)
        self._decision_s, self._decided_s = decision_s, 0.0
        self._ready_s = np.zeros(len(tasks))
        self._deciding_s = 0.0
        # Nobody takes turns with a program that has a core of its own.
        self._turns = itertools.cycle(range(servers if calibration.cores_left <= 0 else 0))
        self._rng = rng
        drift = calibration.drift * rng.standard_normal() if rng is not None else 0.0
        self._drift, self._levels = drift, levels
        pairs = list(zip(tasks.names(), tasks.size.astype(int).tolist(), strict=True))
        self._cases = sorted(set(pairs))
        codes = {case: code for code, case in enumerate(self._cases)}
        self._case_of_row = np.array([codes[pair] for pair in pairs], dtype=np.int64)
        self._kind_of_row = np.asarray(tasks.kind, dtype=np.int64)
        names = list(calibration.devices)
        self._device_of_server = np.array([0] * self._slots + [names.index(place.device) for place in node[1:]])
        self._terms = np.array([calibration.neighbours_beside(device, tasks.kinds) for device in names])
        self._own = np.array([[calibration.placed_excess(device, *case) for case in self._cases] for device in names])
        self._factors = self._drawn_factors()
        self._rested = {
            key: factor.value * math.exp(0.0 if rng is None else factor.spread * rng.standard_normal())
            for key, factor in calibration.rested.items()
        }
        count = len(tasks)
        self._start, self._finish = np.full(count, np.nan), np.full(count, np.nan)
        self._place, self._worker = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)

    def _drawn_factors(self) -> tuple[FloatColumn, FloatColumn, FloatColumn]:
        """By kind and size: what belongs to a size shows while others are busy, as it was measured, and not alone."""
        calibration, kinds = self._calibration, self._tasks.kinds
        others = calibration.others
        tables = (
            calibration.cross.get(CPU, {}),
            calibration.cross.get(others[0], {}) if others else {},
            calibration.within,
        )
        by_kind = [{kind: self._drawn(table[kind]) for kind in kinds if kind in table} for table in tables]
        columns = [np.ones(len(self._cases)) for _ in tables]
        for code, (kind, size) in enumerate(self._cases):
            for column, table in zip(columns, by_kind, strict=True):
                column[code] = table.get(kind, 1.0)
            columns[2 if self._slots > 1 else 0][code] *= math.exp(self._calibration.size_excess(CPU, kind, size))
            columns[1][code] *= math.exp(self._calibration.size_excess(others[0], kind, size)) if others else 1.0
        return columns[0], columns[1], columns[2]

    def _drawn(self, factor: Factor) -> float:
        noise = 0.0 if self._rng is None else factor.spread * self._rng.standard_normal()
        return factor.value * math.exp(noise)

    def run(self) -> RunResult:
        """Let every task arrive, run and end."""
        arrivals, names = self._tasks.arrival_s.tolist(), self._tasks.names()
        arrived, count = 0, len(arrivals)
        while True:
            ends = np.where(self._row >= 0, self._since + self._left * self._slower, math.inf)
            server = int(np.argmin(ends))
            moment = float(ends[server])
            if arrived < count and arrivals[arrived] < moment:
                moment = arrivals[arrived]
                self._arrive(arrived, names[arrived], moment)
                arrived += 1
            elif math.isinf(moment):
                return self._result()
            else:
                self._end(server, moment)
                self._refill(moment)
            self._begin(moment)
            self._take_turns()
            rescale_beside(
                moment, self._slots, self._row, self._left, self._slower, self._since, self._case_of_row,
                self._kind_of_row, self._device_of_server, *self._factors, self._own, self._terms,
            )  # fmt: skip

    def _arrive(self, row: int, kind: str, moment: float) -> None:
        work = work_of(self._tasks, row, kind)
        work.submitted_s = moment
        self._work.append(work)
        chosen = self._reserve.offer(work, moment)
        if chosen is not None:
            work.place = chosen.place
            self._placer.loads[work.place].add(work)
            self._queued(work, moment)
        elif self._reserve.asks_on_arrival:
            self._refill(moment)

    def _refill(self, moment: float) -> None:
        for work, _ in self._reserve.refill(moment) if self._reserve else ():
            self._queued(work, moment)

    def _queued(self, work: Work, moment: float) -> None:
        """The program decides about one task after the other; none of them begins before."""
        self._decided_s = max(self._decided_s, moment) + self._decision_s
        self._ready_s[work.task_id] = self._decided_s
        self._queues[work.place].append(work.task_id)
        self._place[work.task_id] = work.place
        self._deciding_s += self._decision_s

    def _begin(self, moment: float) -> None:
        for server in np.flatnonzero(self._row < 0).tolist():
            queue = self._queues[0 if server < self._slots else server - self._slots + 1]
            if not queue:
                continue
            row = queue.popleft()
            work = self._work[row]
            work.started_s = moment
            self._placer.loads[work.place].running[id(work)] = work
            waited = moment > work.submitted_s
            calibration, device = self._calibration, self._node[work.place].device
            pause = calibration.gaps_s.get(device, calibration.gap_s) if waited else calibration.delay_s
            pause += max(float(self._ready_s[row]) - moment, 0.0)
            self._row[server], self._since[server], self._slower[server] = row, moment, 1.0
            case = int(self._case_of_row[row])
            self._left[server] = pause + self._seconds(work, waited, case == self._last_case[server])
            self._last_case[server] = case
            self._start[row], self._worker[row] = moment + pause, server

    def _take_turns(self) -> None:
        """While every core is busy, deciding stops a worker for so long."""
        if self._deciding_s and np.all(self._row >= 0) and (server := next(self._turns, None)) is not None:
            self._left[server] += self._deciding_s / self._slower[server]
        self._deciding_s = 0.0

    def _seconds(self, work: Work, waited: bool, is_repeat: bool) -> float:
        device = self._node[work.place].device
        alone = self._calibration.seconds(device, work.kind, work.size)
        assert alone is not None
        if is_repeat:
            alone *= self._calibration.repeat_factor(device, work.kind, work.size)
        usual = self._rested.get(device, 1.0)
        rested = 1.0 if waited else self._rested.get(f"{device}:{work.kind}", usual)
        slower = self._drift + self._levels.get(device, 0.0) + self._residual(device, work.kind, work.size)
        return alone * rested * math.exp(slower)

    def _residual(self, device: str, kind: str, size: float) -> float:
        found = self._calibration.residuals.get(device, {})
        row = found.get(f"{kind}:{int(size)}") or found.get(kind, (0.0,))
        middle = sum(row) / len(row)  # it is in the factors already
        if self._rng is None:
            return math.log(sum(math.exp(value) for value in row) / len(row)) - middle
        return row[int(self._rng.integers(len(row)))] - middle

    def _end(self, server: int, moment: float) -> None:
        row = int(self._row[server])
        work = self._work[row]
        self._row[server] = -1
        self._finish[row] = moment
        self._placer.loads[work.place].remove(work)
        self._placer.learn(work, moment - float(self._start[row]), moment, cold=False)

    def _result(self) -> RunResult:
        return RunResult(
            strategy=self._placer.strategy.name,
            source="modelled",
            place_names=tuple(place.name for place in self._node),
            arrival_s=np.asarray(self._tasks.arrival_s),
            start_s=self._start,
            finish_s=self._finish,
            place=self._place,
            worker=self._worker,
        )
