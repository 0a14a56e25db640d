"""Real runs are stored like all others: tasks, results, sums and trace; what only they have stands beside the rows."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler import __version__, storage
from hybrid_ml_scheduler.core.decisions import NO_GPU, device_name
from hybrid_ml_scheduler.core.validation import MOST_SLOTS
from hybrid_ml_scheduler.physics.node import Cpu, Gpu, Node
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.service.wire.measured import (
    MeasuredEnd,
    MeasuredFacts,
    MeasuredResults,
    MeasuredTasks,
    NewMeasuredRun,
)
from hybrid_ml_scheduler.storage import MEASURED, ResultRow, RowBatch, RunRecord, Store, TaskRow

__all__ = ["MODELLED_SUFFIX", "REAL_TASKS", "SILENT_S", "MeasuredRuns", "facts_of"]

# A stored result whose seconds come from the model stands under the strategy's name with this behind it.
MODELLED_SUFFIX = ".modelled"
REAL_TASKS = "real tasks"
# A run that is followed and of which nothing was heard for so long is not under way any more.
SILENT_S = 60.0


def facts_of(run: RunRecord) -> MeasuredFacts | None:
    """What stands beside the rows of a real run; None for a simulated one."""
    if run.state != MEASURED:
        return None
    facts = MeasuredFacts.model_validate(run.controls)
    lately = facts.heard_at is not None and time.time() - facts.heard_at < SILENT_S
    return facts.model_copy(update={"is_running": lately})


class MeasuredRuns:
    """Takes real runs in, piece by piece; every piece is stored whole or not at all."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def begin(self, new: NewMeasuredRun) -> int:
        """Make room for a run and return its id."""
        others = [f"{name}_{one}" for name, count in new.devices.items() if name != "cpu" for one in range(count)]
        if next(iter(new.devices)) != "cpu":
            raise Conflict("The first device of a real run must be `cpu`.")
        facts = MeasuredFacts(
            machine=new.machine,
            devices=new.devices,
            places=["cpu", *others],
            tasks=new.tasks,
            room=new.room,
            load=new.load,
            strategies=[],
            modelled=[],
            bound_s=new.bound_s,
            energy_j={},
            meters=new.meters,
            alarms=new.alarms,
            heard_at=time.time() if new.is_running else None,
        )
        node = Node(cpu=Cpu(slots=min(new.devices["cpu"], MOST_SLOTS)), gpus=(Gpu(),) * max(len(others), 1))
        plan = Plan(seed=new.seed, node=node, workload=WorkloadChoice(source=REAL_TASKS))
        return await storage.begin_measured_run(
            self._store,
            plan=plan.to_mapping(),
            seed=new.seed,
            versions={"hms": __version__, "python": platform.python_version()},
            facts=facts.model_dump(),
            tasks=max(new.tasks, new.room or 0),
            name=new.name,
        )

    async def add_tasks(self, run_id: int, chunk: MeasuredTasks) -> None:
        """Store some of its tasks."""
        run = await self._known(run_id)
        first = _first_task(run, chunk.first, len(chunk.kind))
        columns = zip(chunk.kind, chunk.size, chunk.arrival_s, strict=True)
        rows = [
            TaskRow(first + index, run_id, size, 0.0, 0.0, arrival, "[]", kind)
            for index, (kind, size, arrival) in enumerate(columns)
        ]
        await storage.write_batch(self._store, RowBatch(tasks=rows))
        facts = MeasuredFacts.model_validate(run.controls)
        if chunk.first + len(rows) > facts.tasks:  # more than was known of
            grown = facts.model_copy(update={"tasks": chunk.first + len(rows)})
            await storage.note_measured_run(self._store, run_id, grown.model_dump())

    async def add_results(self, run_id: int, chunk: MeasuredResults) -> None:
        """Store what came of some tasks that are stored already."""
        run = await self._known(run_id)
        facts = MeasuredFacts.model_validate(run.controls)
        ids = _task_ids(run, chunk)
        if max(chunk.place) >= len(facts.places):
            raise Conflict(f"Run {run_id} has {len(facts.places)} places, and a result names place {max(chunk.place)}.")
        arrivals = await storage.arrivals_between(self._store, run_id, min(ids), max(ids))
        if not arrivals.keys() >= set(ids):
            raise Conflict("A result belongs to a task that is not stored; send the tasks first.")
        name = chunk.scheduler if chunk.source == "measured" else chunk.scheduler + MODELLED_SUFFIX
        columns = zip(ids, chunk.place, chunk.start_s, chunk.finish_s, strict=True)
        rows = [
            _result(task_id, name, place, arrivals[task_id], start, finish) for task_id, place, start, finish in columns
        ]
        await storage.write_batch(self._store, RowBatch(results=rows))
        await storage.note_measured_run(self._store, run_id, _noted(facts, name, chunk))

    async def end(self, run_id: int, last: MeasuredEnd) -> None:
        """A run that was followed has ended: what is known only now."""
        facts = MeasuredFacts.model_validate((await self._known(run_id)).controls)
        known = {"bound_s": last.bound_s, "meters": last.meters, "alarms": last.alarms, "heard_at": None}
        await storage.note_measured_run(self._store, run_id, facts.model_copy(update=known).model_dump())

    async def _known(self, run_id: int) -> RunRecord:
        run = await storage.get_run(self._store, run_id)
        if run is None or run.state != MEASURED:
            raise NotFound(f"There is no real run {run_id} in the history.")
        return run


def _first_task(run: RunRecord, index: int, count: int) -> int:
    """The id of the task with this index; refuses what lies beyond the run's own range."""
    tasks = max(int(run.controls["tasks"]), int(run.controls.get("room") or 0))
    if index + count > tasks:
        raise Conflict(f"Run {run.run_id} has {tasks:,} tasks, and {index + count:,} were named.")
    return (run.first_task or 0) + index


def _task_ids(run: RunRecord, chunk: MeasuredResults) -> list[int]:
    """The ids of the tasks that results belong to."""
    if chunk.rows is None:
        first = _first_task(run, chunk.first, len(chunk.place))
        return list(range(first, first + len(chunk.place)))
    first = _first_task(run, max(chunk.rows), 1) - max(chunk.rows)
    return [first + row for row in chunk.rows]


def _noted(facts: MeasuredFacts, name: str, chunk: MeasuredResults) -> Mapping[str, Any]:
    """The facts with one more strategy and its joules."""
    listed = "strategies" if chunk.source == "measured" else "modelled"
    names = list(dict.fromkeys([*getattr(facts, listed), name]))
    energy = dict(facts.energy_j) if chunk.energy_j is None else {**facts.energy_j, name: chunk.energy_j}
    heard_at = None if facts.heard_at is None else time.time()
    return facts.model_copy(update={listed: names, "energy_j": energy, "heard_at": heard_at}).model_dump()


def _result(
    task_id: int, name: str, place: int, arrival_s: float, start_s: float | None, finish_s: float | None
) -> ResultRow:
    """A row in the terms of the model: place 0 is the CPU, place i + 1 is GPU i; joules of one task are not known."""
    gpu, share = (NO_GPU, 0.0) if place == 0 else (place - 1, 1.0)
    failed = start_s is None or finish_s is None
    seconds = None if start_s is None or finish_s is None else max(finish_s - start_s, 0.0)
    latency = None if finish_s is None or failed else max(finish_s - arrival_s, 0.0)
    return ResultRow(
        task_id=task_id,
        scheduler_name=name,
        gpu_fraction=share,
        device=device_name(gpu, share),
        gpu_id=gpu,
        actual_time=seconds,
        latency=latency,
        wait=None if latency is None or seconds is None else max(latency - seconds, 0.0),
        energy_consumption=None,
        execution_cost=None,
        ready_time=arrival_s,
        start_time=None if failed else start_s,
        finish_time=None if failed else finish_s,
        cpu_part=None if failed else seconds if place == 0 else 0.0,
        gpu_part=None if failed else 0.0 if place == 0 else seconds,
        cpu_start=None if failed or place else start_s,
        gpu_start=None if failed or not place else start_s,
        out_of_memory=False,
        failed=failed,
    )
