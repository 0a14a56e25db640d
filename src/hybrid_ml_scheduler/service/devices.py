"""The devices of a run from its stored rows: around the last arrival, or all that they did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hybrid_ml_scheduler import storage
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.explain.motion import STEPS, node_motion
from hybrid_ml_scheduler.service.problems import NotFound
from hybrid_ml_scheduler.service.shelf import Shelf
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus
from hybrid_ml_scheduler.storage import Cache, PartRow, RunRecord, Store

__all__ = ["DeviceHistory", "DeviceParts", "PresentRace"]

_FRESH_S = 1.0
_USABLE_S = 3.0


class PresentRace(Protocol):
    """The race that is going on, here or in another process."""

    def status(self) -> SimulationStatus:
        """Say where the race stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceParts:
    """What the devices of a run did, page by page for each strategy."""

    run_id: int
    devices: Sequence[str]
    strategies: Mapping[str, AsyncIterator[Sequence[PartRow]]]


class DeviceHistory:
    """Reads what the devices did; the picture of this moment is kept for a second."""

    def __init__(self, store: Store, cache: Cache, race: PresentRace) -> None:
        self._store = store
        self._shelf = Shelf(cache, fresh_s=_FRESH_S, usable_s=_USABLE_S)
        self._race = race

    async def node(
        self, schedulers: Sequence[str], seconds: float, run_id: int | None, last_task: int | None = None
    ) -> bytes:
        """Return the devices of some strategies around the last arrival of a run, or that of another task, as JSON."""
        run, names, status = await self._run(run_id), tuple(dict.fromkeys(schedulers)), self._race.status()
        moment = "running" if status.state == "running" else str(status.tasks_total)

        async def made() -> bytes:
            found = await storage.parts_around_now(
                self._store,
                run_id=run.run_id,
                schedulers=names,
                seconds=seconds,
                steps=STEPS,
                last_task=last_task,
                is_over=run.state == storage.MEASURED,
            )
            motion = await asyncio.to_thread(node_motion, run, found, names, seconds)
            return motion.model_dump_json().encode()

        return await self._shelf.get(f"node:{run.run_id}:{','.join(names)}:{seconds}:{last_task}:{moment}", made)

    async def parts(self, schedulers: Sequence[str], tasks: int, run_id: int | None) -> DeviceParts:
        """Return what the devices did with the newest tasks of a run."""
        run = await self._run(run_id)
        pages = {
            name: storage.parts_in_order(self._store, run_id=run.run_id, scheduler=name, most_tasks=tasks)
            for name in dict.fromkeys(schedulers)
        }
        names = stored_plan(run.plan).node.device_names
        devices = tuple(run.controls["places"]) if run.state == storage.MEASURED else names
        return DeviceParts(run_id=run.run_id, devices=devices, strategies=pages)

    async def _run(self, run_id: int | None) -> RunRecord:
        """Return a stored run, the present one unless another is named."""
        wanted = self._race.status().run_id if run_id is None else run_id
        run = None if wanted is None else await storage.get_run(self._store, wanted)
        if run is None:
            raise NotFound("There is no run yet." if wanted is None else f"There is no run {wanted} in the history.")
        return run
