"""What if, for stored runs: simulated again where the strategy can be asked again, else from the record alone."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from hybrid_ml_scheduler import storage
from hybrid_ml_scheduler.core import NO_GPU, Task, TaskBatch, with_rule
from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.core.holding import Holds
from hybrid_ml_scheduler.core.knowledge import EXACT, level_of, split_level
from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.physics import PhysicsEstimator
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.schedulers import create, options_for
from hybrid_ml_scheduler.service.control.courses import live_options, stored_plan
from hybrid_ml_scheduler.service.explain.gantt import stored_gang
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.service.wire.what_if import Costliest, WhatIfAnswer, WhatIfTask
from hybrid_ml_scheduler.storage import DecidedTask, ResultRow, RunRecord, Store
from hybrid_ml_scheduler.studies.kept_decisions import ChangedTask, KeptRun, RecordedTask
from hybrid_ml_scheduler.studies.what_if import Runs, RunToChange, WhatIf, alternatives_of

__all__ = ["costliest_of", "what_if_of"]

T = TypeVar("T")

MOST_TASKS = 10_000
_REACH = 20_000  # so many tasks before are read to see when devices come free
_ANEW = (
    "The run was simulated again from task {first} to task {last} with this one decision changed; the strategy decided "
    "all later tasks anew. Without a change the simulation gives the stored rows to the last bit."
)
_KEPT = (
    "From the record of tasks {first} to {last}: all other decisions are kept as they were, since {name} cannot be "
    "asked again as it was then. Seconds on other devices are the formula's times the task's own recorded factor."
)


class _Changeable(Protocol):
    def what_if(self, task_id: int) -> WhatIf:
        """Every alternative for one task."""

    def costliest(self, count: int, looked_at: int) -> list[WhatIf]:
        """The decisions that cost most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Recorded:
    """A part of one strategy's run: its rows, and when its devices were free before them."""

    run: RunRecord
    plan: Plan
    scheduler: str
    rows: list[DecidedTask]
    free_s: list[float]

    def answer_fields(self, later: Literal["anew", "kept"], **facts: Any) -> dict[str, Any]:
        """The fields that every answer has."""
        first, last = self.rows[0].task.task_id, self.rows[-1].task.task_id
        text = (_ANEW if later == "anew" else _KEPT).format(first=first, last=last, name=self.scheduler)
        found = {"run_id": self.run.run_id, "scheduler": self.scheduler, "later_decisions": later, "explanation": text}
        return {**found, "first_task": first, "last_task": last, **facts}


async def what_if_of(store: Store, run: RunRecord, scheduler: str, task_id: int) -> WhatIfAnswer:
    """The effect of every alternative for one task of a stored run."""
    first = _first_task(run)
    begin = first if task_id - first < MOST_TASKS // 2 else task_id
    recorded = await _recorded(store, run, scheduler, begin)
    if all(row.task.task_id != task_id for row in recorded.rows):
        raise NotFound(f"Run {run.run_id} has no task {task_id} that {scheduler} decided.")

    def answered() -> WhatIfAnswer:
        run_again, later = _changeable(recorded)
        found = WhatIfTask(**run_again.what_if(task_id).to_mapping())
        return WhatIfAnswer(**recorded.answer_fields(later, task=found))

    return await _in_thread(answered)


async def costliest_of(store: Store, run: RunRecord, scheduler: str, count: int, looked_at: int) -> Costliest:
    """The decisions that cost most among the tasks with the longest latency of the latest part of a run."""
    totals = (await storage.run_totals(store, [run.run_id])).get(run.run_id, {})
    last = totals[scheduler].last_task if scheduler in totals else 0
    recorded = await _recorded(store, run, scheduler, max(_first_task(run), last - MOST_TASKS + 1))

    def answered() -> Costliest:
        run_again, later = _changeable(recorded)
        found = [WhatIfTask(**one.to_mapping()) for one in run_again.costliest(count, looked_at)]
        return Costliest(**recorded.answer_fields(later, looked_at=min(looked_at, len(recorded.rows)), tasks=found))

    return await _in_thread(answered)


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except HmsError as error:
        raise Conflict(str(error)) from error


def _first_task(run: RunRecord) -> int:
    return int(run.controls["first_task_id"]) if run.first_task is None else run.first_task


async def _recorded(store: Store, run: RunRecord, scheduler: str, begin: int) -> _Recorded:
    if run.state == storage.MEASURED:
        raise Conflict("A real run cannot be run again with one decision changed; ask that of a simulated run.")
    where = {"run_id": run.run_id, "scheduler": scheduler}
    rows = await storage.decided_tasks(store, **where, first_task=begin, limit=MOST_TASKS)  # type: ignore[arg-type]
    if not rows:
        raise NotFound(f"Run {run.run_id} has no task from {begin} on that {scheduler} decided.")
    plan = stored_plan(run.plan)
    free_s = await storage.devices_free(
        store,
        run_id=run.run_id,
        scheduler=scheduler,
        before_task=rows[0].task.task_id,
        reach=_REACH,
        num_gpus=plan.node.num_gpus,
    )
    return _Recorded(run=run, plan=plan, scheduler=scheduler, rows=rows, free_s=free_s)


def _changeable(recorded: _Recorded) -> tuple[_Changeable, Literal["anew", "kept"]]:
    """The run simulated again, if that gives the very rows that are stored; else the record."""
    make = _maker(recorded)
    if make is not None and _can_be_asked_again(recorded, make()):
        runs = _simulated(recorded, make)
        if _is_the_same(runs, recorded.rows):
            return runs, "anew"
    return _Kept(recorded, holds=make is not None and isinstance(make(), Holds)), "kept"


def _maker(recorded: _Recorded) -> Callable[[], Scheduler] | None:
    """How to make the strategy of the run anew; None for one that the plan does not name."""
    bare, plan = split_level(recorded.scheduler)[0], recorded.plan
    spec = next((spec for spec in plan.schedulers if split_level(spec)[0] == bare), None)
    return None if spec is None else lambda: create(spec, options_for(spec, live_options(plan)))


def _can_be_asked_again(recorded: _Recorded, made: Scheduler) -> bool:
    """Whether a strategy has a compiled form, was told the truth, and nothing waits for anything."""
    if with_rule(made) is None or any(row.task.dependencies != "[]" for row in recorded.rows):
        return False
    asked = split_level(recorded.scheduler)[1]
    return level_of(made, asked, recorded.plan.knowledge) == EXACT and recorded.plan.hidden.is_the_formula


def _simulated(recorded: _Recorded, make: Callable[[], Scheduler]) -> Runs:
    batch = TaskBatch.from_tasks([storage.stored_task(row.task) for row in recorded.rows])
    known = KnownTasks(batch=batch, node=recorded.plan.node, truth=Truth(), seed=recorded.plan.seed)
    free_s = np.array(recorded.free_s) if any(recorded.free_s) else None
    return Runs(RunToChange(make=make, known=known, free_s=free_s))


def _is_the_same(runs: Runs, rows: list[DecidedTask]) -> bool:
    """Whether the simulated run is the stored one to the last bit."""
    base = runs.base
    stored = np.array([(_or_nan(row.result.finish_time), row.result.gpu_fraction, row.result.gpu_id) for row in rows])
    again = np.column_stack([base.finish_s, base.gpu_fraction, base.gpu])
    return bool(np.array_equal(stored, again, equal_nan=True))


class _Kept:
    """What if from the record, with the seconds of other decisions."""

    def __init__(self, recorded: _Recorded, *, holds: bool) -> None:
        self._rows = {row.task.task_id: row for row in recorded.rows}
        self._node = recorded.plan.node
        self._estimator = PhysicsEstimator(self._node)
        tasks = [_recorded_task(row) for row in recorded.rows]
        slots = self._node.cpu.slots
        if slots > 1 and any(recorded.free_s):
            raise PlanError("What if from the middle of a run needs a CPU with one slot.")
        free_s = [*[0.0] * (slots - 1), *recorded.free_s]
        self._run = KeptRun(tasks, free_s, slots=slots, serial=self._estimator.serial, holds=holds)

    def what_if(self, task_id: int) -> WhatIf:
        """Every alternative for one task."""
        return self._run.what_if(task_id, self._others(self._rows[task_id]))

    def costliest(self, count: int, looked_at: int) -> list[WhatIf]:
        """The decisions that cost most."""
        found = [self.what_if(task_id) for task_id in self._run.longest(looked_at)]
        return sorted(found, key=lambda one: -one.regret_s)[:count]

    def _others(self, row: DecidedTask) -> list[ChangedTask]:
        task = storage.stored_task(row.task)
        if task.gpus_required == 1 and stored_gang(row.result):
            raise PlanError(f"Task {task.task_id} was stored without how many GPUs it needs; no other can be tried.")
        on_cpu, on_gpu = _factors(self._estimator, task, row.result)
        found: dict[tuple[float, int], ChangedTask] = {}
        for decision in alternatives_of(task, self._node):
            parts = self._estimator.parts(task, decision.gpu_fraction, decision.gpu or 0)
            if not parts.failed:
                gpu = (decision.gpu or 0) if parts.gpu_s > 0.0 else NO_GPU
                seconds = (parts.cpu_s * on_cpu, parts.gpu_s * on_gpu)
                changed = ChangedTask(parts.gpu_fraction, gpu, *seconds, self._fellows(task, gpu))
                found.setdefault((parts.gpu_fraction, gpu), changed)
        return list(found.values())

    def _fellows(self, task: Task, lead: int) -> tuple[int, ...]:
        """The other GPUs that a gang would have been given: those that were free earliest."""
        if task.gpus_required < 2 or lead == NO_GPU:
            return ()
        return self._estimator.gang(task, lead, self._run.backlogs_s(task.task_id))


def _factors(estimator: PhysicsEstimator, task: Task, result: ResultRow) -> tuple[float, float]:
    """How many times the formula's seconds a task took on CPU and GPU; what it did not use is as the other."""
    parts = estimator.parts(task, result.gpu_fraction, max(0, result.gpu_id))
    on_cpu = (result.cpu_part or 0.0) / parts.cpu_s if parts.cpu_s > 0.0 else 0.0
    on_gpu = (result.gpu_part or 0.0) / parts.gpu_s if parts.gpu_s > 0.0 else 0.0
    return on_cpu or on_gpu or 1.0, on_gpu or on_cpu or 1.0


def _recorded_task(row: DecidedTask) -> RecordedTask:
    result = row.result
    used = not result.failed
    return RecordedTask(
        task_id=row.task.task_id,
        arrival_s=row.task.arrival_time,
        ready_s=row.task.arrival_time if result.ready_time is None else result.ready_time,
        finish_s=_or_nan(result.finish_time),
        gpu_fraction=result.gpu_fraction,
        gpu=result.gpu_id,
        cpu_start_s=result.cpu_start,
        cpu_part_s=(result.cpu_part or 0.0) if used else 0.0,
        gpu_start_s=result.gpu_start,
        gpu_part_s=(result.gpu_part or 0.0) if used else 0.0,
        parents=tuple(json.loads(row.task.dependencies)),
        gang=stored_gang(result),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
