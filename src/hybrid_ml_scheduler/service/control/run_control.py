"""Steering the race: the arena's commands, and the state that a restart must find again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from hybrid_ml_scheduler.core import HmsError, Task
from hybrid_ml_scheduler.core.errors import PlanError, StorageError
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.plans.inputs import versions
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.branching import Lineage, branched, lineage_of
from hybrid_ml_scheduler.service.control.courses import (
    RunDefaults,
    branch_plan,
    course_of,
    plan_for,
    shifted,
    stored_plan,
)
from hybrid_ml_scheduler.service.control.keeper import model_row
from hybrid_ml_scheduler.service.control.run_storing import RunStoring, controls_of
from hybrid_ml_scheduler.service.explain.advice import advice
from hybrid_ml_scheduler.service.explain.audits import Reasons, reasons_of
from hybrid_ml_scheduler.service.problems import Conflict
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.views.stored import model_version
from hybrid_ml_scheduler.service.wire.history import ModelVersion
from hybrid_ml_scheduler.service.wire.simulation import (
    BranchRequest,
    Rebuilding,
    SimulationPatch,
    SimulationStatus,
    StartRequest,
)
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice
from hybrid_ml_scheduler.storage import (
    Store,
    StoreWriter,
    create_run,
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
    "knowledge",
    "upload",
    "target_load",
    "arrival_scale",
    "hardware",
)


class RunControl(RunStoring):
    """One command at a time; the arena carries it out between two tasks."""

    def __init__(
        self, defaults: RunDefaults, arena: Arena, store: Store, writer: StoreWriter, uploads: UploadFolder
    ) -> None:
        super().__init__(arena, store, writer)
        self._uploads = uploads
        self.plan = defaults.plan
        # Strategies that were named when the service started, for the next run; the stored one goes on with its own.
        self.named: tuple[str, ...] = ()
        self._defaults = defaults
        self._lock = asyncio.Lock()
        self._gate = asyncio.Lock()  # shut while a run is replaced: a task that came in then would belong to none

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
                await self._enter(race, plan, self._speed(request), state)
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

    def _speed(self, request: StartRequest) -> float:
        speeds = (request.speed, self._defaults.speed, self._arena.pace.speed)
        return next(speed for speed in speeds if speed is not None)

    async def branch(self, run_id: int, request: BranchRequest) -> SimulationStatus:
        """Begin a run that leaves a stored one; what is refused costs the present run nothing but the wait."""
        async with self._lock:
            lineage = await lineage_of(self._store, run_id, request.task_id)
            await self._branch_course(lineage, request)  # refused before the present run is held
            async with self._held():
                await self._branch_off(await lineage_of(self._store, run_id, request.task_id), request)
            return await self._saved()

    async def _branch_course(self, lineage: Lineage, request: BranchRequest) -> tuple[Plan, Course]:
        left = lineage.left.run
        plan = branch_plan(stored_plan(left.plan), request, self._uploads)
        return plan, await asyncio.to_thread(course_of, plan, left.controls["retraining"], self._uploads)

    async def _branch_off(self, lineage: Lineage, request: BranchRequest) -> None:
        left = lineage.left.run
        plan, course = await self._branch_course(lineage, request)
        first = lineage.first_id(await next_task_id(self._store))

        def progress(done: int) -> None:
            self._rebuilding = Rebuilding(run_id=left.run_id, tasks=lineage.tasks, done=done)

        progress(0)
        try:
            race = await branched(self._store, lineage, course, run_id=0, first_task_id=first, progress=progress)
        finally:
            self._rebuilding = None
        speed = float(left.controls["speed"]) if request.speed is None else request.speed
        await self._enter(race, plan, speed, "running")

    async def _made(self, request: StartRequest) -> tuple[Race, Plan]:
        """Make the race of a new run before anything is touched: what cannot be made must not cost the present run."""
        plan = plan_for(self._defaults.plan, request, self._uploads)
        course = await asyncio.to_thread(course_of, plan, self._defaults.retraining, self._uploads)
        race = await asyncio.to_thread(Race, course, run_id=0, first_task_id=0)
        await next_task_id(self._store)  # without a store nothing is begun, and the present run goes on
        return race, plan

    @contextlib.asynccontextmanager
    async def _held(self) -> AsyncIterator[RaceState]:
        """Hold the race with every row stored; gives its state, in which it goes on unless another one was entered."""
        async with self._gate:
            race, state = self._arena.race, self._arena.state

            def go_on() -> None:
                if self._arena.race is race and self._arena.problem is None:
                    self._arena.change_state(state)

            try:
                await self._settled()
                await self._keep_picture()
                yield state
            finally:
                await self._in_arena(go_on)

    async def _enter(self, race: Race, plan: Plan, speed: float, state: RaceState) -> None:
        """Enter a new run whose ids follow those of everything that is stored."""
        first = await next_task_id(self._store) if race.branch is None else race.first_task_id
        run_id = await create_run(
            self._store,
            plan=plan.to_mapping(),
            seed=plan.seed,
            versions=versions(),
            state=state,
            controls={**controls_of(race, speed), "first_task_id": first},
        )
        race.take_place(run_id, first)
        self.plan, self.named = plan, ()
        self._defaults = replace(self._defaults, plan=plan, speed=None)
        before = self._arena.race

        def enter() -> None:
            with contextlib.suppress(StorageError):  # notices that came up meanwhile are no reason to stay behind
                self._arena.hand_over()
            self._arena.pace.change(speed)
            self._arena.enter(race, state)
            if race.branch is not None:  # a restart finds its beginning without going through the run it left
                with contextlib.suppress(StorageError):
                    self._arena.hand_over(checkpoint=True)

        def stay_behind() -> None:
            if self._arena.race is before:  # it has ended, and nothing brings it back after a restart
                self._arena.stand(f"Run {run_id} was begun and could not be entered.", first)

        try:
            await self._in_arena(enter)
        finally:
            self._arena.ask(stay_behind)

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
            laws = shifted(race.preset, race.workload, patch)
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
