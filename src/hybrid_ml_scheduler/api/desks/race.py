"""Steering the race: the arena's commands, and the state that a restart must find again."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable
from typing import Any, TypeVar

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api.desks.advice import advice
from hybrid_ml_scheduler.api.desks.asking import asked
from hybrid_ml_scheduler.api.desks.courses import course_of, plan_for, shifted
from hybrid_ml_scheduler.api.problems import Conflict
from hybrid_ml_scheduler.api.views import status_view
from hybrid_ml_scheduler.api.wire.simulation import SimulationPatch, SimulationStatus, StartRequest
from hybrid_ml_scheduler.api.wire.tasks import NewTask, TaskAdvice
from hybrid_ml_scheduler.experiments.plans import Plan
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.course import Retraining
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.storage import (
    Store,
    StoreUnavailableError,
    StoreWriter,
    create_run,
    next_task_id,
    set_run_state,
)

__all__ = ["RaceDesk"]

T = TypeVar("T")

_DURABLE_WITHIN_S = 2.0
_STORED_WITHIN_S = 10.0
_RETRY_S = 1.0


class RaceDesk:
    """One command at a time; the arena carries it out between two tasks."""

    def __init__(self, plan: Plan, retraining: Retraining, arena: Arena, store: Store, writer: StoreWriter) -> None:
        self.plan = plan
        # Strategies that were named when the service started, for the next run; the stored one goes on with its own.
        self.named: tuple[str, ...] = ()
        self.retraining: Retraining = retraining
        self._arena = arena
        self._store = store
        self._writer = writer
        self._lock = asyncio.Lock()
        self._state_before: RaceState = "stopped"
        self._unsaved: asyncio.Task[None] | None = None

    def status(self) -> SimulationStatus:
        """Say where the race stands."""
        return status_view(self._arena.status())

    async def start(self, request: StartRequest) -> SimulationStatus:
        """Begin, continue or begin anew."""
        async with self._lock:
            if self._arena.race is None or request.new_run:
                await self._begin(request)
            elif request.seed is not None or request.schedulers is not None:
                raise Conflict("seed and schedulers belong to a new run; ask for it with new_run = true.")
            else:
                patch = SimulationPatch(
                    speed=request.speed, arrival_rate=request.arrival_rate, workload=request.workload
                )
                await self._apply(patch)
                self._refuse_if_halted()
                await self._in_arena(lambda: self._arena.change_state("running"))
            return await self._saved()

    async def stop(self) -> SimulationStatus:
        """Stop; everything decided so far is stored."""
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
            if self._arena.race is None and (patch.arrival_rate is not None or patch.workload is not None):
                raise Conflict("There is no run yet whose workload could be changed; start one first.")
            await self._apply(patch)
            return await self._saved()

    async def advise(self, task: NewTask, run: bool) -> TaskAdvice:
        """Ask every strategy about a task; with `run`, put it into the race too."""
        async with self._lock:
            if self._arena.race is None:
                await self._begin(StartRequest(), state="stopped")
        answer = await self._in_arena(lambda: advice(self._arena, task, run=run))
        if run:
            await self._durable()
        return answer

    async def rest(self) -> None:
        """Hold the race until `renew`, with everything stored, because its rows are about to be removed."""
        async with self._lock:
            self._state_before = self._arena.state
            await self._halted()

    async def renew(self) -> None:
        """Begin a new run in the state the present one was in before its rows were removed."""
        async with self._lock:
            if self._arena.race is not None:
                await self._begin(StartRequest(new_run=True), state=self._state_before)

    async def _halted(self) -> None:
        await self._in_arena(lambda: self._arena.change_state("stopped"))
        await asyncio.to_thread(self._writer.flush, _STORED_WITHIN_S)

    async def _go_to(self, wanted: RaceState, allowed: set[RaceState]) -> SimulationStatus:
        async with self._lock:

            def change() -> None:
                if self._arena.state in allowed:
                    self._arena.change_state(wanted)

            await self._in_arena(change)
            if wanted != "running":  # what is shown as done must outlive a crash
                await self._durable()
            return await self._saved()

    async def _begin(self, request: StartRequest, state: RaceState = "running") -> None:
        """Begin a run: what was decided before is stored first, so that its ids are known."""
        asked = request.schedulers is not None
        plan = plan_for(self.plan if asked or not self.named else self.plan.with_values(schedulers=self.named), request)
        course = course_of(plan, self.retraining)
        await next_task_id(self._store)  # without a store nothing is begun, and the present run goes on
        if self._arena.race is not None:
            await self._halted()
        first = max(await next_task_id(self._store), self._arena.race.next_task_id if self._arena.race else 0)
        speed = self._arena.pace.speed if request.speed is None else request.speed
        controls = {"speed": speed, "retraining": self.retraining, "first_task_id": first}
        run_id = await create_run(
            self._store, plan=plan.to_mapping(), seed=plan.seed, versions=_versions(), state=state, controls=controls
        )
        race = await asyncio.to_thread(Race, course, run_id=run_id, first_task_id=first)
        self.plan, self.named = plan, ()

        def enter() -> None:
            self._arena.enter(race, state)
            self._arena.set_speed(speed)

        await self._in_arena(enter)

    async def _apply(self, patch: SimulationPatch) -> None:
        race = self._arena.race
        if patch.speed is not None:
            speed = patch.speed
            await self._in_arena(lambda: self._arena.set_speed(speed))
        if race is None or (patch.arrival_rate is None and patch.workload is None):
            return
        preset, laws = shifted(race.preset, race.workload, patch)
        if preset != race.preset or laws != race.workload:
            await self._in_arena(lambda: self._arena.shift(preset, laws))
            await self._durable()

    def _refuse_if_halted(self) -> None:
        if self._arena.problem is not None:
            raise Conflict(f"The run was halted ({self._arena.problem}) Begin a new one with new_run = true.")

    async def _in_arena(self, command: Callable[[], T]) -> T:
        return await asked(self._arena, command)

    async def _durable(self) -> None:
        """Wait until what was handed over is stored; while the store is away, its backlog keeps it."""
        await self._in_arena(self._arena.hand_over)
        await asyncio.to_thread(self._writer.flush, _DURABLE_WITHIN_S)

    async def _saved(self) -> SimulationStatus:
        """Note the state for a restart; while the store is away, it is noted as soon as it is back."""
        if self._unsaved is not None and not self._unsaved.done():
            self._unsaved.cancel()
        try:
            await self.save_state()
        except StoreUnavailableError:
            self._unsaved = asyncio.create_task(self._save_later())
        return self.status()

    async def save_state(self) -> None:
        """Note the state and the pace with the run."""
        race = self._arena.race
        if race is not None:
            controls: dict[str, Any] = {
                "speed": self._arena.pace.speed,
                "retraining": self.retraining,
                "first_task_id": race.first_task_id,
            }
            await set_run_state(self._store, race.run_id, self._arena.state, controls)

    async def _save_later(self) -> None:
        while True:
            await asyncio.sleep(_RETRY_S)
            try:
                await self.save_state()
            except StoreUnavailableError:
                continue
            return


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    parts = ("numpy", "numba", "scikit-learn", "torch")
    return {"hms": __version__, "python": platform.python_version()} | {name: version(name) for name in parts}
