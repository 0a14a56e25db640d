"""How strategies learn, from the stored rows of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hybrid_ml_scheduler import storage
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.service.control.asking import ask_arena
from hybrid_ml_scheduler.service.devices import PresentRace
from hybrid_ml_scheduler.service.explain.adapting import adaptation_view, beliefs_of
from hybrid_ml_scheduler.service.problems import NotFound
from hybrid_ml_scheduler.service.shelf import Shelf
from hybrid_ml_scheduler.service.wire.learning import Beliefs
from hybrid_ml_scheduler.storage import AroundChange, Cache, EventRow, Store

__all__ = ["LearningHistory"]

_FRESH_S = 1.0
_USABLE_S = 3.0


class LearningHistory:
    """Reads what changes did to the strategies; an answer is kept for a second."""

    def __init__(self, store: Store, cache: Cache, race: PresentRace, arena: Arena | None = None) -> None:
        self._store = store
        self._shelf = Shelf(cache, fresh_s=_FRESH_S, usable_s=_USABLE_S)
        self._race = race
        self._arena = arena

    async def beliefs(self, scheduler: str, run_id: int | None) -> Beliefs:
        """Return what a strategy believed against what happened, in the present race or at the end of a stored run."""
        if run_id is not None and run_id != self._race.status().run_id:
            return await self._kept(scheduler, run_id)
        if self._arena is None:
            raise NotFound("Only the service that runs the race knows what its strategies believe.")
        racers = [] if self._arena.race is None else self._arena.race.racers
        racer = next((one for one in racers if one.name == scheduler), None)
        if racer is None:
            raise NotFound(f"There is no strategy {scheduler} in the present race.")
        return await ask_arena(self._arena, lambda: beliefs_of(racer))

    async def _kept(self, scheduler: str, run_id: int) -> Beliefs:
        """Return what was kept when another run began."""
        picture = await storage.run_picture(self._store, run_id)
        beliefs = {} if picture is None else json.loads(picture).get("beliefs", {})
        if scheduler not in beliefs:
            raise NotFound(f"What {scheduler} believed in run {run_id} is not kept.")
        return Beliefs.model_validate(beliefs[scheduler])

    async def adaptation(self, boundary: int | None, tasks: int, run_id: int | None) -> bytes:
        """Return a run around one of its changes, the last one unless another is named: an `Adaptation` as JSON."""
        status = self._race.status()
        wanted = status.run_id if run_id is None else run_id
        if wanted is None:
            raise NotFound("There is no run yet.")
        moment = "running" if status.state == "running" else str(status.tasks_total)

        async def made() -> bytes:
            shifts = await storage.event_history(self._store, kind="shift", run_id=wanted)
            chosen = _chosen(shifts, boundary)
            later = [] if chosen is None else [row.boundary for row in shifts if row.boundary > chosen.boundary]
            found, compared = AroundChange(width=1, last_task=None, ends_s={}), None
            if chosen is not None:
                compared = await storage.compared_tasks(self._store, wanted)
                found = await storage.around_change(
                    self._store,
                    run_id=wanted,
                    boundary=chosen.boundary,
                    most_tasks=tasks,
                    until=min([*later, compared.up_to + 1]),
                )
            behind = () if compared is None else compared.behind
            return adaptation_view(wanted, shifts, chosen, found, behind).model_dump_json().encode()

        return await self._shelf.get(f"adaptation:{wanted}:{boundary}:{tasks}:{moment}", made)


def _chosen(shifts: Sequence[EventRow], boundary: int | None) -> EventRow | None:
    """Return the change that is meant; `shifts` are the newest first."""
    if boundary is None:
        return shifts[0] if shifts else None
    found = next((row for row in shifts if row.boundary == boundary), None)
    if found is None:
        raise NotFound(f"Nothing changed in this run at task {boundary}.")
    return found
