"""A run and its store: what is shown as done is stored, and a restart finds the state again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.live.arena import Arena, HaltedError
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.framing import Framer
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.service.control.asking import ask_arena
from hybrid_ml_scheduler.service.explain.adapting import all_beliefs
from hybrid_ml_scheduler.service.problems import Conflict, Unavailable
from hybrid_ml_scheduler.service.views.live import snapshot_view, status_view
from hybrid_ml_scheduler.service.wire.learning import KeptPicture
from hybrid_ml_scheduler.service.wire.simulation import Rebuilding, SimulationStatus
from hybrid_ml_scheduler.storage import Store, StoreUnavailableError, StoreWriter, keep_picture, set_run_state

__all__ = ["RunStoring", "controls_of"]

T = TypeVar("T")

_DURABLE_WITHIN_S = 2.0
_STORED_WITHIN_S = 10.0
_RETRY_S = 1.0
_LOOK_AGAIN_S = 0.01


def _kept_state(state: RaceState) -> RaceState:
    """What the last picture of a run says: it stands, or all of its trace is placed."""
    return "complete" if state == "complete" else "stopped"


def controls_of(race: Race, speed: float) -> dict[str, Any]:
    """What a restart must know of a run beside its plan: its pace, its first task, where it branched off."""
    branch = {} if race.branch is None else {"branch": asdict(race.branch)}
    return {
        "speed": speed,
        "retraining": race.course.retraining,
        "first_task_id": race.first_task_id,
        **branch,
    }


class RunStoring:
    """Has the arena hand over what it holds, waits for the store, and notes the state of the run there."""

    def __init__(self, arena: Arena, store: Store, writer: StoreWriter) -> None:
        self._arena = arena
        self._store = store
        self._writer = writer
        self._unsaved: asyncio.Task[None] | None = None
        self._rebuilding: Rebuilding | None = None

    async def _in_arena(self, command: Callable[[], T]) -> T:
        try:
            return await ask_arena(self._arena, command)
        except HaltedError as problem:
            reason = str(problem).rstrip(".")
            raise Conflict(f"The race cannot go on ({reason}); begin a new one with new_run = true.") from problem

    async def _durable(self) -> None:
        """Wait a moment until what was handed over is stored; what a slow store has not taken by then, it will."""
        if self._arena.problem is None:  # else the store may be what refuses; the arena goes on trying by itself
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
            await set_run_state(self._store, race.run_id, self._arena.state, controls_of(race, self._arena.pace.speed))

    async def _save_later(self) -> None:
        while True:
            await asyncio.sleep(_RETRY_S)
            try:
                await self.save_state()
            except StoreUnavailableError:
                continue
            return

    async def _keep_picture(self) -> None:
        """Keep what the run showed last: once another one has begun, nobody could show it again."""
        race = self._arena.race
        if race is None or race.tasks_processed == 0:
            return
        status = replace(self._arena.status(), state=_kept_state(self._arena.state), achieved_speed=0.0, backlog_rows=0)
        frame, beliefs = await self._in_arena(lambda: (Framer(race).frame(status, time.time()), all_beliefs(race)))
        picture = KeptPicture.model_construct(**dict(snapshot_view(frame, race.recent)), beliefs=beliefs)
        await keep_picture(self._store, race.run_id, picture.model_dump_json())

    async def _keep_picture_if_up(self) -> None:
        with contextlib.suppress(HmsError):  # a store that is away is told elsewhere
            await self._keep_picture()

    async def _settled(self) -> None:
        """Stop and have every row stored; refuse if the store takes too long, since a new race would drop the rest."""

        def settle() -> bool:
            self._arena.change_state("stopped")
            self._give_up_refused()
            return self._arena.hand_over()

        deadline_s = time.monotonic() + _STORED_WITHIN_S
        while True:
            is_handed_over = await self._in_arena(settle)
            left_s = deadline_s - time.monotonic()
            is_stored = await asyncio.to_thread(self._writer.flush, max(0.0, left_s))
            if is_handed_over and is_stored:
                return
            if left_s <= 0.0:
                rows = self._arena.status().backlog_rows
                raise Unavailable(f"{rows} rows of the present run are not stored yet; try again when they are.")
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _give_up_refused(self) -> None:
        """Drop what a halted race has left behind a row that the store refused: stored now, it would leave a gap."""
        if self._arena.problem is not None and self._writer.renew() and self._arena.race is not None:
            self._arena.race.take_rows()

    def status(self) -> SimulationStatus:
        """Say where the race stands, and whether a branch is being prepared."""
        return status_view(self._arena.status()).model_copy(update={"rebuilding": self._rebuilding})
