"""Steering the race: the arena's commands, and the state that a restart must find again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from hybrid_ml_scheduler.core import HmsError, Task
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.branching import lineage_of
from hybrid_ml_scheduler.service.control.courses import (
    course_of,
    laws_after,
    load_of,
    plan_for,
)
from hybrid_ml_scheduler.service.control.keeper import model_row
from hybrid_ml_scheduler.service.control.run_entry import RunEntry
from hybrid_ml_scheduler.service.explain.advice import advice
from hybrid_ml_scheduler.service.explain.audits import Reasons, reasons_of
from hybrid_ml_scheduler.service.problems import Conflict
from hybrid_ml_scheduler.service.views.stored import model_version
from hybrid_ml_scheduler.service.wire.history import ModelVersion
from hybrid_ml_scheduler.service.wire.simulation import (
    BranchRequest,
    NewRunLoad,
    SimulationPatch,
    SimulationStatus,
    StartRequest,
)
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice
from hybrid_ml_scheduler.storage import (
    next_task_id,
)

__all__ = ["RunControl"]

T = TypeVar("T")

_LOOK_EVERY_S = 0.25
_OF_A_NEW_RUN = (
    "seed",
    "schedulers",
    "num_gpus",
    "gpu_type",
    "slo_s",
    "knowledge",
    "upload",
    "target_load",
    "arrival_scale",
    "hardware",
)


class RunControl(RunEntry):
    """One command at a time; the arena carries it out between two tasks."""

    async def reasons(self, task: Task) -> Reasons:
        """Say why the strategies decided a task as they did."""
        return await reasons_of(self._arena, task)

    async def start(self, request: StartRequest) -> SimulationStatus:
        """Begin, continue or begin anew."""
        async with self._lock:
            if request.new_run or (self._arena.race is None and self._arena.problem is None):
                await self._begin(request)
            elif any(getattr(request, name) is not None for name in _OF_A_NEW_RUN):
                names = f"{', '.join(_OF_A_NEW_RUN[:-1])} and {_OF_A_NEW_RUN[-1]}"
                raise Conflict(f"{names} belong to a new run; ask for it with new_run = true.")
            else:
                await self._in_arena(self._arena.refuse_if_halted)
                if self._arena.state == "complete":
                    raise Conflict("The run is complete: its trace has ended; begin another with new_run = true.")
                patch = SimulationPatch(
                    speed=request.speed, arrival_rate=request.arrival_rate, workload=request.workload
                )
                await self._apply(patch)
                await self._in_arena(lambda: self._arena.change_state("running"))
            return await self._saved()

    async def preview(self, request: StartRequest) -> NewRunLoad:
        """Say how much work a new run would bring its node; nothing is begun."""
        return await asyncio.to_thread(lambda: load_of(self._asked_plan(request), self._uploads))

    async def begin_anew(self, state: RaceState) -> None:
        """Begin a new run without a look at the stored one."""
        async with self._lock:
            await self._begin(StartRequest(new_run=True), state)

    async def stop(self) -> SimulationStatus:
        """Stop; everything decided so far is stored, or waits for a store that is behind."""
        return await self._go_to("stopped", {"running", "paused"})

    async def pause(self) -> SimulationStatus:
        """Hold the race where it is."""
        return await self._go_to("paused", {"running"})

    async def resume(self) -> SimulationStatus:
        """Go on after a pause."""
        return await self._go_to("running", {"paused"})

    async def change(self, patch: SimulationPatch) -> SimulationStatus:
        """Change speed, arrival rate or workload while running."""
        async with self._lock:
            await self._apply(patch)
            return await self._saved()

    async def call_back(self, scheduler: str) -> ModelVersion:
        """Let a strategy's earlier model decide from the next task on."""
        async with self._lock:
            try:
                row = await self._in_arena(lambda: model_row(*self._arena.call_back(scheduler)))
            except PlanError as problem:
                raise Conflict(str(problem)) from problem
            await self._durable()
        return model_version(row)

    async def advise(self, task: NewTask, run: bool) -> TaskAdvice:
        """Ask every strategy about a task; with `run`, put it into the race too."""
        if self._arena.race is None:
            async with self._lock:
                if self._arena.race is None:
                    await self._in_arena(self._arena.refuse_if_halted)
                    await self._begin(StartRequest(), state="stopped")
        if not run:
            return await self._in_arena(lambda: advice(self._arena, task, run=False))
        async with self._gate:
            answer = await self._in_arena(lambda: advice(self._arena, task, run=True))
        await self._durable()
        return answer

    async def clear(self, remove: Callable[[], Awaitable[T]]) -> T:
        """Have the stored rows removed and begin a new run in the state of the present one, if there is one."""
        async with self._lock:
            if self._arena.race is None and self._arena.problem is None:
                return await remove()
            request = StartRequest(new_run=True)
            race, plan = await self._made(request)
            async with self._held() as state:
                removed = await remove()
                # A trace that was raced to its end is there to be raced again, from its beginning.
                await self._enter(race, plan, self._speed(request), "stopped" if state == "complete" else state)
            return removed

    async def note_completion(self) -> None:
        """Note with the run of a trace that it is complete, once it is, for the list of runs and for a restart."""
        noted: int | None = None
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            race = self._arena.race
            if race is None or self._arena.state != "complete" or race.run_id == noted:
                continue
            async with self._lock:
                with contextlib.suppress(HmsError):  # a store that is away is asked again
                    if self._arena.race is race and self._arena.state == "complete":
                        await self._durable()
                        await self._keep_picture()
                        await self.save_state()
                        noted = race.run_id

    async def _go_to(self, wanted: RaceState, allowed: set[RaceState]) -> SimulationStatus:
        async with self._lock:

            def change() -> None:
                if self._arena.state in allowed:
                    self._arena.change_state(wanted)

            await self._in_arena(change)
            if wanted != "running":  # what is shown as done must outlive a crash
                await self._durable()
                await self._keep_picture_if_up()
            return await self._saved()

    async def _begin(self, request: StartRequest, state: RaceState = "running") -> None:
        race, plan = await self._made(request)
        async with self._held():
            await self._enter(race, plan, self._speed(request), state)

    async def branch(self, run_id: int, request: BranchRequest) -> SimulationStatus:
        """Begin a run that leaves a stored one; what is refused costs the present run nothing but the wait."""
        async with self._lock:
            lineage = await lineage_of(self._store, run_id, request.task_id)
            await self._branch_course(lineage, request)  # refused before the present run is held
            async with self._held():
                await self._branch_off(await lineage_of(self._store, run_id, request.task_id), request)
            return await self._saved()

    def _asked_plan(self, request: StartRequest) -> Plan:
        usual, now = self._usual_node, self.plan
        return plan_for(self._defaults.plan, request, self._uploads, usual_node=usual, now=now)

    async def _made(self, request: StartRequest) -> tuple[Race, Plan]:
        """Make the race of a new run before anything is touched: what cannot be made must not cost the present run."""
        plan = self._asked_plan(request)
        course = await asyncio.to_thread(course_of, plan, self._defaults.retraining, self._uploads)
        race = await asyncio.to_thread(Race, course, run_id=0, first_task_id=0)
        await next_task_id(self._store)  # without a store nothing is begun, and the present run goes on
        return race, plan

    async def _apply(self, patch: SimulationPatch) -> None:
        """Change all of it or, where a part is refused, nothing."""
        race, laws = self._arena.race, None
        changes = (patch.arrival_rate, patch.workload, patch.drift)
        if any(one is not None for one in changes):
            await self._in_arena(self._arena.refuse_if_halted)
            if race is None:
                raise Conflict("There is no run yet whose workload could be changed; start one first.")
            if race.course.trace is not None and (patch.arrival_rate, patch.workload) != (None, None):
                raise Conflict("The run follows a trace, whose arrivals are given; a new run can have another load.")
            laws = laws_after(race.preset, race.workload, patch, (race.course.preset, race.course.workload))
            laws = None if laws == (race.preset, race.workload) else laws

        drift = None if patch.drift is None else Drift(at_task=0, **patch.drift.model_dump())

        def change() -> None:
            if laws is not None:
                self._arena.shift(*laws)
            if drift is not None and race is not None:
                self._arena.shift(race.preset, race.workload, drift)
            if patch.speed is not None:
                self._arena.set_speed(patch.speed)

        await self._in_arena(change)
        if patch.speed is not None:
            self._defaults = replace(self._defaults, speed=None)
        if laws is not None or drift is not None:
            await self._durable()
