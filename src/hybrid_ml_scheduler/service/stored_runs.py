"""Runs that are stored: listed, named, compared, looked at again, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import ValidationError

from hybrid_ml_scheduler import storage
from hybrid_ml_scheduler.service.explain.moments import snapshot_at
from hybrid_ml_scheduler.service.explain.what_if import costliest_of, what_if_of
from hybrid_ml_scheduler.service.measured_runs import MeasuredRuns
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.service.views.runs import paired_view, parting, run_card
from hybrid_ml_scheduler.service.views.stored import stored_notifications
from hybrid_ml_scheduler.service.wire.live import Snapshot
from hybrid_ml_scheduler.service.wire.measured import MeasuredEnd, MeasuredResults, MeasuredTasks, NewMeasuredRun
from hybrid_ml_scheduler.service.wire.runs import RunCard, RunComparison, RunList, RunPatch, RunRemoved
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus
from hybrid_ml_scheduler.service.wire.what_if import Costliest, WhatIfAnswer
from hybrid_ml_scheduler.storage import RunRecord, Store

__all__ = ["StoredRuns"]

_NOTICES = 60


class _RaceStatus(Protocol):
    def status(self) -> SimulationStatus:
        """Say where the race stands."""


class StoredRuns:
    """Reads and changes stored runs; where another service runs the race (`is_followed`), they are changed there."""

    def __init__(self, store: Store, race: _RaceStatus, *, is_followed: bool = False) -> None:
        self._store = store
        self._race = race
        self._is_followed = is_followed
        self._measured = MeasuredRuns(store)

    async def page(self, limit: int, before: int | None) -> RunList:
        """Return the stored runs, newest first."""
        found, total = await storage.stored_runs(self._store, limit=limit, before=before)
        return RunList(runs=await self._cards(found), total=total)

    async def get(self, run_id: int) -> RunCard:
        """Return one run."""
        return (await self._cards([await self._known(run_id)]))[0]

    async def describe(self, run_id: int, patch: RunPatch) -> RunCard:
        """Give a run a name or a note."""
        self._refuse_if_followed()
        await self._known(run_id)
        await storage.describe_run(self._store, run_id, name=patch.name, note=patch.note)
        return await self.get(run_id)

    async def remove(self, run_id: int) -> RunRemoved:
        """Remove a run with all its rows."""
        self._refuse_if_followed()
        await self._known(run_id)
        newest = await storage.latest_run(self._store)
        if run_id == self._race.status().run_id or (newest is not None and newest.run_id == run_id):
            raise Conflict(f"Run {run_id} is the present one; begin a new run before it is removed.")
        gone = await storage.remove_run(self._store, run_id)
        return RunRemoved(run_id=run_id, tasks=gone.tasks, results=gone.results)

    async def compare(self, run_ids: Sequence[int]) -> RunComparison:
        """Return runs side by side, each further one paired with the first where the tasks are the same."""
        cards = await self._cards([await self._known(one) for one in run_ids])
        paired = [
            paired_view(
                cards[0],
                card,
                await storage.paired_stretches(
                    self._store, cards[0].run_id, card.run_id, begin=parting(cards[0], card)
                ),
            )
            for card in cards[1:]
        ]
        return RunComparison(runs=cards, paired=paired)

    async def snapshot(self, run_id: int, task_id: int | None = None) -> Snapshot:
        """Return the last that was shown of a run, or how it stood when a task had arrived, as viewers get it."""
        run = await self._known(run_id)
        if task_id is not None:
            return await snapshot_at(self._store, run, task_id)
        kept = await storage.run_picture(self._store, run_id)
        try:
            snapshot = None if kept is None else Snapshot.model_validate_json(kept)
        except ValidationError:  # it was kept by a version that showed other things
            snapshot = None
        if snapshot is None:
            return await self._last_moment(run)
        rows = await storage.notification_history(self._store, run_id=run_id, limit=_NOTICES)
        return snapshot.model_copy(update={"notifications": stored_notifications(rows[::-1], [], [])})

    async def _last_moment(self, run: RunRecord) -> Snapshot:
        """Return how a run stood at its end, from its rows: a real run has no other picture."""
        ends = await storage.task_range(self._store, run.run_id)
        if ends is None:
            raise NotFound(f"What run {run.run_id} showed last is not kept, and it has no rows.")
        return await snapshot_at(self._store, run, ends[1])

    async def begin_measured(self, new: NewMeasuredRun) -> RunCard:
        """Begin to take in a real run."""
        self._refuse_if_followed()
        return await self.get(await self._measured.begin(new))

    async def add_measured_tasks(self, run_id: int, chunk: MeasuredTasks) -> RunCard:
        """Take in tasks of a real run."""
        self._refuse_if_followed()
        await self._measured.add_tasks(run_id, chunk)
        return await self.get(run_id)

    async def add_measured_results(self, run_id: int, chunk: MeasuredResults) -> RunCard:
        """Take in results of a real run."""
        self._refuse_if_followed()
        await self._measured.add_results(run_id, chunk)
        return await self.get(run_id)

    async def end_measured(self, run_id: int, last: MeasuredEnd) -> RunCard:
        """Note the end of a real run that was followed."""
        self._refuse_if_followed()
        await self._measured.end(run_id, last)
        return await self.get(run_id)

    async def what_if(self, run_id: int, scheduler: str, task_id: int) -> WhatIfAnswer:
        """Return what every other decision for a task would have done."""
        return await what_if_of(self._store, await self._known(run_id), scheduler, task_id)

    async def costliest(self, run_id: int, scheduler: str, count: int, looked_at: int) -> Costliest:
        """Return the decisions of a strategy that cost most."""
        return await costliest_of(self._store, await self._known(run_id), scheduler, count, looked_at)

    async def _known(self, run_id: int) -> RunRecord:
        run = await storage.get_run(self._store, run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id} in the history.")
        return run

    async def _cards(self, found: Sequence[RunRecord]) -> list[RunCard]:
        ids = [run.run_id for run in found]
        totals = await storage.run_totals(self._store, ids)
        pictures = await storage.kept_pictures(self._store, ids)
        present = self._race.status().run_id
        return [
            run_card(run, totals.get(run.run_id, {}), present=present, has_picture=run.run_id in pictures)
            for run in found
        ]

    def _refuse_if_followed(self) -> None:
        if self._is_followed:
            raise Conflict("This service follows a race that another one runs; ask that one.")
