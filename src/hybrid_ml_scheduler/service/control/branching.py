"""A run that leaves a stored one at a task of it: the same stream from there on, with other strategies or another node.

A stored run is its plan, its seed and what happened to it from outside, each at its task: so it can be brought to any
of its tasks again. Strategies that were in it stand there as they stood; others stand there as if they had been in it
from the beginning. What is computed again is held against the stored rows before anything is begun with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.core.errors import InternalError, PlanError
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, EventKind, RaceEvent, Rows
from hybrid_ml_scheduler.live.replay import rebuild
from hybrid_ml_scheduler.live.script import FOLLOWED
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.control.keeper import stored_rows
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.storage import (
    EventRow,
    RowBatch,
    RunRecord,
    Store,
    events_since,
    get_run,
    task_range,
    verify_replay,
)

__all__ = ["MOST_REBUILT", "Lineage", "branch_race", "lineage_of", "stored_event"]

MOST_REBUILT = 200_000  # tasks before a branch: at two thousand a second these are a minute or two
_FOLLOWED = ("shift", "task")  # what the stream and the truth are made of; models and strides are a run's own


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of one run: from its first task up to, not including, `end`; `place` is where it lies in the stream."""

    run: RunRecord
    first: int
    end: int
    place: int

    def move_event(self, event: RaceEvent, origin: int) -> RaceEvent:
        """The event where it happens in a race whose stream begins with the task `origin`."""
        by = origin + self.place - self.first
        facts = dict(event.payload)
        if event.kind == "model":
            facts["requested_at"] += by
        if event.kind == "task":
            facts["task_id"] += by
            facts["dependencies"] = [one + by for one in facts["dependencies"]]
        facts.pop(FOLLOWED, None)
        return replace(event, boundary=event.boundary + by, payload=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """A run and those that it came from, the oldest first, each up to where the next one left it."""

    parts: Sequence[_Part]
    events: Sequence[Sequence[RaceEvent]]
    kept_from: int

    @property
    def left(self) -> _Part:
        """The run that is left, up to where it is left."""
        return self.parts[-1]

    @property
    def tasks(self) -> int:
        """How many tasks of the stream come before the branch."""
        return self.left.place + self.left.end - self.left.first

    def first_id(self, lowest: int) -> int:
        """The first task of a branch, not below `lowest`: even steps away, for some strategies go by odd and even."""
        return lowest + (lowest - self.left.end) % 2

    def past(self, origin: int, told: Mapping[str, int]) -> list[RaceEvent]:
        """What happened before the branch; models only of strategies from the part on that `told` names."""
        found = []
        for number, (part, events) in enumerate(zip(self.parts, self.events, strict=True)):
            for event in events:
                is_before = event.boundary < part.end or (event.kind not in _FOLLOWED and event.boundary == part.end)
                own = event.payload.get("scheduler") if event.kind in ("model", "recall") else None
                if is_before and (own is None or told.get(own, len(self.parts)) <= number):
                    found.append(part.move_event(event, origin))
        return [replace(event, sequence=number) for number, event in enumerate(found)]

    def to_come(self, origin: int) -> list[RaceEvent]:
        """The shifts and tasks from outside that the run which is left met from the branch on."""
        part = self.left
        later = [one for one in self.events[-1] if one.kind in _FOLLOWED and one.boundary >= part.end]
        return [part.move_event(event, origin) for event in later]


async def lineage_of(store: Store, run_id: int, task_id: int | None) -> Lineage:
    """Return how the run came to this task of it (the one after its last where none is named)."""
    run = await get_run(store, run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id} in the history.")
    if "first_task_id" not in run.controls:
        raise Conflict(f"Run {run_id} was measured on real devices and cannot be continued in the model.")
    last_part, kept_from = await _ending(store, run, task_id)
    parts = [last_part]
    while (left := parts[0].run.controls.get("branch")) is not None:
        before = await get_run(store, left["run_id"])
        if before is None or await task_range(store, before.run_id) is None:
            raise Conflict(
                f"Run {parts[0].run.run_id} left run {left['run_id']}, which has been removed, so that it cannot be "
                "brought back."
            )
        parts.insert(0, _part(before, left["task_id"]))
    if (tasks := sum(part.end - part.first for part in parts)) > MOST_REBUILT:
        raise Conflict(f"{tasks:,} tasks come before that one; a run is brought back through {MOST_REBUILT:,} at most.")
    placed, place = [], 0
    for part in parts:
        placed.append(replace(part, place=place))
        place += part.end - part.first
    events = [[stored_event(row) for row in await events_since(store, part.run.run_id)] for part in placed]
    return Lineage(parts=placed, events=events, kept_from=kept_from)


def _part(run: RunRecord, end: int) -> _Part:
    return _Part(run=run, first=int(run.controls["first_task_id"]), end=end, place=0)


async def _ending(store: Store, run: RunRecord, task_id: int | None) -> tuple[_Part, int]:
    ends = await task_range(store, run.run_id)
    if ends is None:
        raise Conflict(f"Run {run.run_id} has no stored task, so that there is nothing to leave it at.")
    first, last = ends
    end = last + 1 if task_id is None else task_id
    if not first <= end <= last + 1:
        raise NotFound(f"Task {end} is not a stored task of run {run.run_id} ({first} to {last}).")
    return _part(run, end), first


async def branch_race(
    store: Store,
    lineage: Lineage,
    course: Course,
    *,
    run_id: int,
    first_task_id: int,
    progress: Callable[[int], None] = lambda done: None,
) -> Race:
    """Return the race of a branch before its first task; `progress` is told how many tasks have been computed again."""
    rows: list[Rows] = []
    try:
        race, same = await asyncio.to_thread(_rebuilt, lineage, course, first_task_id, rows, progress)
    except (KeyError, TypeError, InternalError) as problem:
        name = type(problem).__name__
        raise Conflict(f"Run {lineage.left.run.run_id} cannot be brought back ({name}: {problem}).") from problem
    await _verify(store, lineage, rows, first_task_id, same)
    left = lineage.left
    race.branch_off(run_id, left.run.run_id, left.end)
    race.follow(lineage.to_come(first_task_id - lineage.tasks))
    return race


def _rebuilt(
    lineage: Lineage, course: Course, first_task_id: int, kept: list[Rows], progress: Callable[[int], None]
) -> tuple[Race, Collection[str]]:
    """Return the race before the branch, and which of its strategies the run that is left had, too."""
    origin = first_task_id - lineage.tasks
    race = Race(course, run_id=0, first_task_id=origin)
    told = _told(lineage, race)
    past = lineage.past(origin, told)
    for event in (*past, *lineage.to_come(origin)):
        if event.kind == "task" and event.payload.get("gpus_required", 1) > course.node.num_gpus:
            raise PlanError(f"A task that was put into the run needs {event.payload['gpus_required']} GPUs.")

    def keep(rows: Rows) -> None:
        kept[:] = [*kept[-1:], rows]  # the latest are held against what is stored
        progress(race.next_task_id - origin)

    rebuild(race, past, first_task_id, race.learners.trained_apart - told.keys(), keep)
    return race, told.keys()


def _told(lineage: Lineage, race: Race) -> dict[str, int]:
    """For each strategy that the run which is left had, too: the part from which on it is the same."""
    told: dict[str, int] = {}
    course = race.course
    for number in range(len(lineage.parts) - 1, -1, -1):
        earlier = stored_plan(lineage.parts[number].run.plan)
        is_alike = (earlier.node, earlier.knowledge) == (course.node, course.knowledge)
        for racer, spec in zip(race.racers, course.schedulers, strict=True):
            was_told = number == len(lineage.parts) - 1 or told.get(racer.name) == number + 1
            if is_alike and was_told and spec in earlier.schedulers:
                told[racer.name] = number
    return told


async def _verify(
    store: Store, lineage: Lineage, rows: Sequence[Rows], first_task_id: int, same: Collection[str]
) -> None:
    """Refuse where the latest tasks before the branch were computed otherwise than they are stored."""
    left = lineage.left
    by = left.end - first_task_id  # from the ids of the race to those of the stored run
    for batch in (stored_rows(one).spelled_out() for one in rows):
        moved = [row._replace(task_id=row.task_id + by, run_id=left.run.run_id) for row in batch.tasks]
        tasks = [row for row in moved if row.task_id >= lineage.kept_from and row.dependencies == "[]"]
        ids = {row.task_id - by for row in tasks}
        results = [row for row in batch.results if row.task_id in ids and row.scheduler_name in same]
        results = [row._replace(task_id=row.task_id + by) for row in results]
        try:
            await verify_replay(store, RowBatch(tasks=tasks, results=results))
        except HmsError as problem:
            raise Conflict(f"Run {left.run.run_id} cannot be brought back: {problem}") from problem


def stored_event(row: EventRow) -> RaceEvent:
    """Return an event as the race takes it."""
    return RaceEvent(
        sequence=row.sequence,
        boundary=row.boundary,
        kind=cast("EventKind", row.kind),
        payload=cast("Mapping[str, Any]", json.loads(row.payload)),
        at=row.created_at,
    )
