"""A stored run as it stood when one of its tasks had arrived: made from the rows, with nothing added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybrid_ml_scheduler import __version__, storage
from hybrid_ml_scheduler.live.frames import (
    Bound,
    BranchPoint,
    Comparison,
    DeviceLoad,
    LearningState,
    Shift,
    Window,
    moment,
)
from hybrid_ml_scheduler.live.places import Waited, lower_ends, with_places
from hybrid_ml_scheduler.live.windows import LATEST, WindowName, loads
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.explain.motion import node_motion, promised_work
from hybrid_ml_scheduler.service.measured_runs import MODELLED_SUFFIX, facts_of
from hybrid_ml_scheduler.service.problems import NotFound
from hybrid_ml_scheduler.service.views.live import load_view
from hybrid_ml_scheduler.service.views.stored import result_view, stored_shift
from hybrid_ml_scheduler.service.wire.live import LatestTask, SimulationUpdate, Snapshot
from hybrid_ml_scheduler.service.wire.motion import NodeMotion, StrategyMotion
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus, WorkloadState
from hybrid_ml_scheduler.storage import (
    MEASURED,
    ComparedTasks,
    ModelRow,
    PartsAroundNow,
    RangeTotals,
    RunRecord,
    Store,
    TaskRow,
)

__all__ = ["snapshot_at"]

_RECENT = 300
_RECENT_S = 60.0
_REAL_SCOPE = "No placement of these tasks can end sooner, by the times that were measured of each of them alone."
_NO_BOUND = Bound(scope="Bounds are proven while a race runs; of a moment of its past none is kept.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """The tasks of a run up to one of them."""

    run: RunRecord
    plan: Plan
    first: int
    tasks: Sequence[TaskRow]
    shifts: Sequence[Shift]
    compared: ComparedTasks

    @property
    def last(self) -> TaskRow:
        return self.tasks[-1]

    @property
    def begin_s(self) -> float:
        left = self.run.controls.get("branch")
        return 0.0 if left is None else float(left["simulated_time_s"])

    @property
    def is_measured(self) -> bool:
        """Whether real tasks ran: then no meter has read single tasks, and what is seen is how the run ended."""
        return self.run.state == MEASURED

    @property
    def bound(self) -> Bound:
        """What is proven of a real run; of a simulated one's past nothing is kept."""
        facts = facts_of(self.run)
        if facts is None or facts.bound_s is None:
            return _NO_BOUND if facts is None else Bound(scope="Nothing is proven before a real run has ended.")
        ends = {"first_task_id": self.first, "last_task_id": self.last.task_id}
        return Bound(makespan_s=facts.bound_s, tasks=facts.tasks, scope=_REAL_SCOPE, **ends)

    @property
    def is_told(self) -> bool:
        """Whether a task takes what its label says: with noise the labels are not what a race compares with."""
        return self.plan.workload.is_preset and self.plan.workload.parameters().noise_sigma == 0.0


async def snapshot_at(store: Store, run: RunRecord, task_id: int) -> Snapshot:
    """Return what viewers would have seen, as far as it is stored."""
    at = await _moment(store, run, task_id)
    begin = {"run": (at.first, at.begin_s), **({"shift": _since_shift(at)} if at.shifts else {}), "latest": _latest(at)}
    windows = {name: await _window(store, at, name, *ends) for name, ends in begin.items()}  # type: ignore[arg-type]
    names = [one.name for one in windows["run"].comparison]
    found = await storage.results_between(store, task_id, task_id)
    loads = await _loads(store, at, names)
    models = [
        row for row in await storage.model_history(store, run_id=run.run_id, limit=10_000) if row.boundary <= task_id
    ]
    update = SimulationUpdate(
        seq=0,
        at=moment(run.created_at),
        status=_status(at, names, models),
        simulated_time_s=at.last.arrival_time,
        tasks_processed=at.last.task_id - at.first + 1,
        task=_task(at.last),
        recent_tasks=[],
        latest_results={row.scheduler_name: result_view(row) for row in found},
        comparison=list(windows["run"].comparison),
        compared_tasks=windows["run"].compared_tasks,
        windows={name: window for name, window in windows.items() if name != "run"},
        focus=names[0] if names else "",
        utilization=load_view(loads[names[0]] if names else {}),
        clusters={name: load_view(devices) for name, devices in loads.items()},
        audit={},
        bound=at.bound,
        shifts=list(at.shifts),
    )
    recent = [_task(row) for row in at.tasks]
    return Snapshot(
        seq=0, at=update.at, version=__version__, update=update, recent_tasks=recent, notifications=[], log=[]
    )


async def _moment(store: Store, run: RunRecord, task_id: int) -> _Moment:
    ends = await storage.task_range(store, run.run_id)
    if ends is None or not ends[0] <= task_id <= ends[1]:
        raise NotFound(f"Task {task_id} is not a stored task of run {run.run_id}.")
    rows = await storage.tasks_between(store, run.run_id, max(ends[0], task_id - _RECENT + 1), task_id)
    shifts = await storage.event_history(store, kind="shift", run_id=run.run_id)
    return _Moment(
        run=run,
        plan=stored_plan(run.plan),
        first=ends[0],
        tasks=rows,
        shifts=[stored_shift(row) for row in reversed(shifts) if row.boundary <= task_id],
        compared=await storage.compared_tasks(store, run.run_id, task_id),
    )


def _since_shift(at: _Moment) -> tuple[int, float]:
    return at.shifts[-1].task_id, at.shifts[-1].simulated_time_s


def _latest(at: _Moment) -> tuple[int, float | None]:
    first = at.compared.up_to - LATEST + 1
    return (at.first, at.begin_s) if first <= at.first else (first, None)


async def _window(store: Store, at: _Moment, name: WindowName, first: int, begin_s: float | None) -> Window:
    last, up_to, run_id = at.last, at.compared.up_to, at.run.run_id
    if begin_s is None:
        begin_s = (await storage.tasks_between(store, run_id, first, first))[0].arrival_time
    count, compared = last.task_id - first + 1, max(0, up_to - first + 1)
    totals, fastest_s = await storage.range_totals(store, run_id, first, up_to) if compared else ({}, 0.0)
    entered = totals
    if compared < count:
        entered, _ = await storage.range_totals(store, run_id, first, last.task_id, is_ranked=False)
    oracle_s = _oracle_s(totals, fastest_s / compared if at.is_told and compared else None)
    end_s = await _arrival_s(store, at, up_to) if compared else begin_s
    is_bound = name == "run" and compared == at.bound.tasks
    rows = []
    for key in sorted(at.compared.done, key=lambda one: (one.endswith(MODELLED_SUFFIX), one)):
        one, whole = totals.get(key, RangeTotals()), entered.get(key, RangeTotals())
        references = (oracle_s, at.bound.makespan_s if is_bound else None)
        row = replace(
            _standing(at, key, one, (begin_s, end_s - begin_s), references),
            finished=whole.finished,
            waiting=count - whole.finished - whole.failed,
        )
        if key in at.compared.behind and compared:
            waiting = await storage.waiting_tasks(store, run_id, key, (first, up_to), last.arrival_time)
            waited = Waited(*waiting, last.arrival_time - begin_s)
            row = lower_ends(row, waited, at.bound if is_bound else None) if waiting.tasks else row
        rows.append(row)
    return Window(
        name=name,
        first_task_id=first,
        last_task_id=last.task_id,
        tasks=count,
        compared_tasks=compared,
        begin_s=begin_s,
        end_s=last.arrival_time,
        comparison=with_places(rows, compared, count),
    )


async def _arrival_s(store: Store, at: _Moment, task_id: int) -> float:
    known = [row.arrival_time for row in at.tasks if row.task_id == task_id]
    return known[0] if known else (await storage.tasks_between(store, at.run.run_id, task_id, task_id))[0].arrival_time


def _oracle_s(totals: Mapping[str, RangeTotals], labelled_s: float | None) -> float | None:
    """What the oracle's splits took on average: as raced, or else as labelled."""
    raced = totals.get("oracle")
    return raced.sums["actual_time"] / raced.finished if raced is not None and raced.finished else labelled_s


def _standing(
    at: _Moment,
    name: str,
    total: RangeTotals,
    times: tuple[float, float],
    references: tuple[float | None, float | None],
) -> Comparison:
    (begin_s, length_s), (oracle_s, bound_s), sums = times, references, total.sums

    def mean(key: str, *, is_known: bool = True) -> float | None:
        return sums[key] / total.finished if total.finished and is_known else None

    mean_s, makespan_s = mean("actual_time"), max(0.0, total.last_finish_s - begin_s)
    cpu_load, gpu_load = loads(at.plan.node, (sums["cpu_part"], sums["gpu_part"]), length_s, makespan_s)
    return Comparison(
        name=name,
        tasks=total.finished,
        finished=total.finished,
        waiting=0,
        avg_time=mean_s,
        avg_latency=mean("latency"),
        avg_wait=mean("wait"),
        avg_energy=mean("energy_consumption", is_known=not at.is_measured),
        avg_cost=mean("execution_cost", is_known=not at.is_measured),
        p95_latency=total.p95_latency_s,
        p99_9_latency=total.p99_9_latency_s,
        longest_latency=total.longest_latency_s,
        avg_slowdown=total.mean_slowdown if at.is_told else None,
        longest_slowdown=total.longest_slowdown if at.is_told else None,
        within_deadline=total.within_deadline,
        total_time=sums["actual_time"],
        total_energy=sums["energy_consumption"],
        total_cost=sums["execution_cost"],
        device_seconds=sums["cpu_part"] + sums["gpu_part"],
        cpu_load=cpu_load,
        gpu_load=gpu_load,
        makespan=makespan_s,
        makespan_gap=makespan_s / bound_s - 1.0 if bound_s else None,
        time_gap=None,
        efficiency=oracle_s / mean_s if mean_s and oracle_s is not None else None,
        avg_gpu_fraction=mean("gpu_fraction"),
        decisions={kind: total.placed.get(kind, 0) for kind in ("cpu", "gpu", "split")},
        oom_count=total.out_of_memory,
        failed=total.failed,
    )


async def _loads(store: Store, at: _Moment, names: Sequence[str]) -> dict[str, Mapping[str, DeviceLoad]]:
    """How busy the devices of each strategy were then: over the last minute, and over all of the run."""
    run_id, last = at.run.run_id, at.last
    found = await storage.parts_around_now(
        store,
        run_id=run_id,
        schedulers=names,
        seconds=_RECENT_S,
        last_task=last.task_id,
        is_over=at.is_measured,
    )
    motion = node_motion(at.run, found, names, _RECENT_S)
    totals, _ = await storage.range_totals(store, run_id, at.first, last.task_id, is_ranked=False)
    return {
        one.scheduler: _devices(at, one, motion, found, totals.get(one.scheduler, RangeTotals()))
        for one in motion.strategies
    }


def _devices(
    at: _Moment, one: StrategyMotion, motion: NodeMotion, found: PartsAroundNow, total: RangeTotals
) -> Mapping[str, DeviceLoad]:
    """How busy one strategy's devices were; what is promised to them has not made them busy yet."""
    cpu_slots = at.plan.node.cpu.slots
    end_s = total.last_finish_s if at.is_measured else at.last.arrival_time
    passed_s = max(end_s - at.begin_s, 1e-9)
    own = [row for row in found.queues if row.scheduler_name == one.scheduler]
    running, ahead_s = promised_work(own, len(motion.devices))
    shares = _shares(one, motion, cpu_slots)
    loads: dict[str, DeviceLoad] = {}
    for place, device in enumerate(motion.devices):
        worked_s = max(0.0, total.busy_s.get(device, 0.0) - float(ahead_s[place])) / (1 if place else cpu_slots)
        loads[device] = DeviceLoad(
            utilization=shares[place],
            run_utilization=min(1.0, worked_s / passed_s),
            queue_length=one.waiting_now[place] + int(running[place]),
            backlog_s=max(0.0, one.free_in_s[place]),
        )
    return loads


def _shares(one: StrategyMotion, motion: NodeMotion, cpu_slots: int) -> list[float]:
    """The share of the last minute in which each device worked."""
    starts = np.maximum(np.array(one.parts.begin_s, dtype=np.float64), motion.begin_s)
    ends = np.minimum(np.array(one.parts.end_s, dtype=np.float64), motion.now_s)
    worked = np.zeros(len(motion.devices))
    np.add.at(worked, np.array(one.parts.device, dtype=np.int64), np.maximum(0.0, ends - starts))
    worked[0] /= cpu_slots
    shares: list[float] = np.clip(worked / max(motion.now_s - motion.begin_s, 1e-9), 0.0, 1.0).tolist()
    return shares


def _task(row: TaskRow) -> LatestTask:
    return LatestTask(
        id=row.task_id, size=row.size, intensity=row.compute_intensity, memory=row.memory_required, kind=row.kind
    )


def _status(at: _Moment, names: Sequence[str], models: Sequence[ModelRow]) -> SimulationStatus:
    run, plan, left = at.run, at.plan, at.run.controls.get("branch")
    preset = at.shifts[-1].workload if at.shifts else plan.workload.source
    planned = plan.workload.parameters().arrival_rate if plan.workload.is_preset else 0.0
    count = at.last.task_id - at.first + 1
    return SimulationStatus(
        state="stopped",
        is_running=False,
        is_paused=False,
        run_id=run.run_id,
        seed=run.seed,
        tasks_processed=count,
        tasks_total=at.last.task_id + 1,
        last_task_id=at.last.task_id,
        simulated_time_s=at.last.arrival_time,
        speed=float(run.controls.get("speed", 0.0)),
        achieved_speed=0.0,
        workload=WorkloadState(preset=preset, arrival_rate=at.shifts[-1].arrival_rate if at.shifts else planned),
        schedulers=list(names),
        knowledge=plan.knowledge,
        num_gpus=plan.node.num_gpus,
        retrain_interval=plan.retrain_interval,
        retraining=run.controls.get("retraining", "background"),
        storage="ok",
        backlog_rows=0,
        problem=None,
        learning={
            name: _learning([row for row in models if row.scheduler_name == name], count)
            for name in sorted({row.scheduler_name for row in models})
        },
        branch=None if left is None else BranchPoint(**left),
    )


def _learning(models: Sequence[ModelRow], tasks: int) -> LearningState:
    """How often a strategy had been trained; `models` are the newest first."""
    active = [row for row in models if row.outcome != "refused"]
    return LearningState(
        kind="forest",
        updates=len(active),
        tasks_per_update=tasks / len(active) if active else None,
        coalesced=0,
        refused=len(models) - len(active),
        is_training=False,
        samples=active[0].samples if active else None,
        error=active[0].error if active else None,
        last_update_task=active[0].boundary if active else None,
    )
