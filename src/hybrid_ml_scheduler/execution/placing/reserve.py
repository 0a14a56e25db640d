"""Tasks that are not decided yet: while every device has enough to do, deciding can wait until more is known.

A task is decided at once while nothing waits here and some device that can run it has room. Otherwise it stays here,
and when a device has room, of the first tasks of each kind and order of size the one is taken that gains most by this
device, and the strategy is asked about it: once, as about any task. The backlogs it is shown hold what waits here for
other devices too. A strategy that holds, or that answers "not yet", has its tasks kept in `Holding` instead.

A new task never overtakes those that wait. Were it asked about whenever some device has room, it would be shown all
that waits for the faster device, and so be promised to the slower one, task after task: thousands of them while a
program submits faster than tasks end.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque

from hybrid_ml_scheduler.cluster.held_tasks import AsksAgain
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Holds
from hybrid_ml_scheduler.execution.placing.holding import Holding
from hybrid_ml_scheduler.execution.placing.load import PlaceLoad
from hybrid_ml_scheduler.execution.placing.placement import Placement, Placer
from hybrid_ml_scheduler.execution.tasks import TaskFunction
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["Reserve"]

# A worker has enough with one task running and one ahead, or with this much believed work: several times as long as it
# takes until another task comes, for a device must not stand idle meanwhile.
_DEPTH = 2
_ENOUGH_S = 0.012
# What is believed of a group is looked up again after so many uses, and when a task of it was taken.
_USES = 32
_ASKED_AT_ONCE = 32


class Reserve:
    """Undecided tasks by kind and order of size, as they were submitted; its owner holds the lock."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._groups: defaultdict[tuple[str, int], _Group] = defaultdict(_Group)
        self._count = 0
        self._holding: Holding | None = None
        if isinstance(placer.strategy, Holds) and len(placer.loads) > 1:
            self._holding = Holding(placer, placer.strategy)

    def __len__(self) -> int:
        return self._count + (0 if self._holding is None else len(self._holding))

    @property
    def asks_on_arrival(self) -> bool:
        """Whether the strategy is to be asked about waiting tasks now that another one has come."""
        return self._holding is not None or (self._count > 0 and any(_has_room(load) for load in self._placer.loads))

    @property
    def _decides_at_once(self) -> bool:
        """Whether the strategy says that its answer holds for this very moment, so that nothing is to wait for it."""
        return getattr(self._placer.strategy, "decides_at_once", False)

    def offer(self, work: Work, now_s: float) -> Placement | None:
        """The decision about a new task, or None if it waits here."""
        if self._holding is not None:
            return self._holding.offer(work, now_s)
        if not isinstance(work.function, TaskFunction):
            return self._placer.place(work, now_s)
        able = self._placer.places_of(work)
        is_alone = not self._count and any(_has_room(self._placer.loads[one]) for one in able)
        if is_alone or len(able) < 2 or work.affinity is not None or self._decides_at_once:
            chosen = self._placer.place(work, now_s, self._waiting_s())
            if chosen is None:
                self._held_from_now_on(work, now_s)
            return chosen
        self._wait_here(work)
        return None

    def _wait_here(self, work: Work) -> None:
        # What gains on a device often depends on the size more than on the kind.
        self._groups[work.kind, math.frexp(work.size)[1]].queue.append(work)
        self._count += 1

    def _held_from_now_on(self, work: Work, now_s: float) -> None:
        """The strategy has said "not yet": all that is undecided is held, and asked about again at every wake."""
        waiting = sorted([*self.cancel(), work], key=lambda one: one.task_id)
        self._holding = Holding(self._placer, AsksAgain(self._placer.strategy))
        for one in waiting:
            self._holding.hold(one, now_s)

    def refill(self, now_s: float) -> list[tuple[Work, Placement]]:
        """Decide about tasks for every device that has room; whole ones are promised to their places."""
        if self._holding is not None:
            return self._holding.refill(now_s)
        found: list[tuple[Work, Placement]] = []
        try:
            self._fill_places(now_s, found)
        except SchedulerError:
            if not found:
                raise
        return [*found, *self._first_asked_again(now_s)]

    def _first_asked_again(self, now_s: float) -> list[tuple[Work, Placement]]:
        """Nobody else might ask soon where "not yet" was said for the first time."""
        return [] if self._holding is None else self._holding.refill(now_s)

    def _fill_places(self, now_s: float, found: list[tuple[Work, Placement]]) -> None:
        for load in self._placer.loads:
            while self._count and _has_room(load) and len(found) < _ASKED_AT_ONCE:
                work = self._most_gain(load.place.index)
                if work is None:
                    break
                waiting_s = self._waiting_s()
                if waiting_s is not None:
                    waiting_s[load.place.index] = 0.0  # here it is this task's turn
                try:
                    chosen = self._placer.place(work, now_s, waiting_s)
                except SchedulerError:
                    self._wait_here(work)  # whoever is told of the error ends it with the others
                    raise
                if chosen is None:
                    self._held_from_now_on(work, now_s)
                    return
                if chosen.fraction >= 1.0:
                    work.place = chosen.place
                    self._placer.loads[chosen.place].add(work)
                found.append((work, chosen))

    def cancel(self) -> list[Work]:
        """Take everything out, undecided."""
        works = [work for group in self._groups.values() for work in group.queue]
        works += [] if self._holding is None else self._holding.cancel()
        self._groups.clear()
        self._count = 0
        return works

    def _most_gain(self, place: int) -> Work | None:
        """Of the first task of each group the one that is faster here by most, compared with its best other device."""
        best: tuple[float, tuple[str, int]] | None = None
        for key, group in self._groups.items():
            gain = group.known(self._placer).gains.get(place)
            if gain is not None and (best is None or gain > best[0]):
                best = (gain, key)
        if best is None:
            return None
        group = self._groups[best[1]]
        work = group.queue.popleft()
        group.uses = 0  # what is due to be tried is being tried now
        self._count -= 1
        if not group.queue:
            del self._groups[best[1]]
        return work

    def _waiting_s(self) -> list[float] | None:
        """Believed seconds of what waits here for each place; as many tasks of a group as of its first one."""
        if not self._count:
            return None
        waiting = [0.0] * len(self._placer.loads)
        for group in self._groups.values():
            count = len(group.queue)
            for place, seconds in group.known(self._placer).shares:
                waiting[place] += count * seconds
        return waiting


class _Group:
    """Tasks of one kind and order of size, and what is believed of the first of them, made anew now and then."""

    __slots__ = ("gains", "queue", "shares", "uses")

    def __init__(self) -> None:
        self.queue: deque[Work] = deque()
        self.gains: dict[int, float] = {}
        self.shares: list[tuple[int, float]] = []
        self.uses = 0

    def known(self, placer: Placer) -> _Group:
        """Itself, with gains by place and seconds that each task adds to what waits for the best places."""
        if self.uses > 0:
            self.uses -= 1
            return self
        self.uses, first = _USES, self.queue[0]
        hoped, to_try = placer.hoped_s(first)
        self.gains = {}
        for place, seconds in hoped.items():
            others = (other_s for other, other_s in hoped.items() if other != place)
            gain = min(others, default=math.inf) / seconds
            # Otherwise kinds that gain more would keep it from ever being tried.
            self.gains[place] = math.inf if gain > 1.0 and place in to_try else gain
        believed = placer.believed_s(first)
        fastest = min(believed.values())
        sharing = [place for place, seconds in believed.items() if seconds <= fastest]
        self.shares = [(place, fastest / len(sharing) / placer.loads[place].place.workers) for place in sharing]
        return self


def _has_room(load: PlaceLoad) -> bool:
    workers = load.place.workers
    return load.unfinished < _DEPTH * workers or (
        load.promised_s < _ENOUGH_S * workers and load.unfinished < 64 * workers
    )
