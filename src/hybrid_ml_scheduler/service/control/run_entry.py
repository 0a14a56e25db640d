"""Entering a run: holding the present one with every row stored, and putting a new one, or a branch, in its place."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.plans.inputs import versions
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.branching import Lineage, branch_race
from hybrid_ml_scheduler.service.control.courses import RunDefaults, branch_plan, course_of, stored_plan
from hybrid_ml_scheduler.service.control.run_storing import RunStoring, controls_of
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.wire.simulation import BranchRequest, Rebuilding, StartRequest
from hybrid_ml_scheduler.storage import Store, StoreWriter, create_run, next_task_id, set_run_state

__all__ = ["RunEntry"]


class RunEntry(RunStoring):
    """Puts one run in the place of another; whoever commands it takes turns."""

    def __init__(
        self, defaults: RunDefaults, arena: Arena, store: Store, writer: StoreWriter, uploads: UploadFolder
    ) -> None:
        super().__init__(arena, store, writer)
        self._uploads = uploads
        self.plan = defaults.plan
        # Strategies that were named when the service started, for the next run; the stored one goes on with its own.
        self.named: tuple[str, ...] = ()
        self._defaults = defaults
        self._usual_node = defaults.plan.node
        self._lock = asyncio.Lock()
        self._gate = asyncio.Lock()  # shut while a run is replaced: a task that came in then would belong to none

    def _speed(self, request: StartRequest) -> float:
        speeds = (request.speed, self._defaults.speed, self._arena.pace.speed)
        return next(speed for speed in speeds if speed is not None)

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
                if race is not None and state == "complete":  # or the run that follows would make it one that was left
                    await set_run_state(self._store, race.run_id, state)
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
            race = await branch_race(self._store, lineage, course, run_id=0, first_task_id=first, progress=progress)
        finally:
            self._rebuilding = None
        speed = float(left.controls["speed"]) if request.speed is None else request.speed
        await self._enter(race, plan, speed, "running")
