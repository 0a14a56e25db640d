"""Devices on which tasks fail one after another: avoided while another device can run the kind, and tried again.

A device that fails at once is always idle, and looks like the best place for everything. After three failures in a row
of a kind (or of several kinds) it gets no more of them. A try costs a task, so the first comes after 16 tasks of the
kind have ended well elsewhere, and each further one after twice as many. A kind that fails everywhere is left alone:
then its code is to blame, not a device.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["FailingPlaces"]

_IN_A_ROW = 3
_FIRST_TRY = 16
_MOST_REMEMBERED = 4096
_FAILURES = frozenset({"failed", "died", "timeout"})
_LOGGER = logging.getLogger("hybrid_ml_scheduler.execution")


class _Streak:
    """Failures in a row of one kind at one place, and what has gone well elsewhere since the last of them."""

    __slots__ = ("elsewhere", "failures", "is_tried", "tries")

    def __init__(self) -> None:
        self.failures = self.elsewhere = self.tries = 0
        self.is_tried = False

    @property
    def is_due(self) -> bool:
        return not self.is_tried and self.elsewhere >= _FIRST_TRY << self.tries


class FailingPlaces:
    """Streaks of failures by kind and place; its owner holds the lock."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._streaks: dict[tuple[str, int], _Streak] = {}
        self._failing_kinds: dict[int, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._streaks)

    def ended(self, work: Work, state: str) -> None:
        """A task that was promised to a place is over."""
        if state in _FAILURES:
            self._failed(work)
        elif self._streaks:
            self._went_well(work, state == "done")

    def _failed(self, work: Work) -> None:
        kind, place = work.kind, work.place
        if (kind, place) not in self._streaks and len(self._streaks) >= _MOST_REMEMBERED:
            return  # kinds without end are no kinds
        streak = self._streaks.setdefault((kind, place), _Streak())
        streak.failures += 1
        streak.elsewhere = 0
        if work.is_try:
            streak.is_tried, streak.tries = False, streak.tries + 1
        kinds = self._failing_kinds.setdefault(place, set())
        kinds.add(kind)
        if streak.failures == _IN_A_ROW and len(self._places) > 1:
            _LOGGER.warning(
                "%s failed %d tasks of kind %s in a row. Where another device can run them, it gets no more of them; "
                "it is tried again after %d tasks have ended well elsewhere.",
                self._places[place].name, _IN_A_ROW, kind, _FIRST_TRY,
            )  # fmt: skip

    def _went_well(self, work: Work, is_done: bool) -> None:
        if not is_done:  # cancelled: nothing was learned
            if work.is_try and (tried := self._streaks.get((work.kind, work.place))) is not None:
                tried.is_tried = False
            return
        self._streaks.pop((work.kind, work.place), None)
        self._failing_kinds.pop(work.place, None)
        for (kind, _), streak in self._streaks.items():
            if kind == work.kind:
                streak.elsewhere += 1

    def fails(self, kind: str, place: int) -> bool:
        """Whether the last tasks of a kind failed there, or those of several kinds, and no try is due."""
        streak = self._streaks.get((kind, place))
        if streak is not None and streak.failures >= _IN_A_ROW:
            return not streak.is_due
        # What fails with one kind after another fails with the next: no kind has to find out for itself.
        return streak is None and place > 0 and len(self._failing_kinds.get(place, ())) >= _IN_A_ROW

    def usable(self, kind: str, places: Iterable[int]) -> list[int]:
        """The places that do not fail; all of them where every one does."""
        found = list(places)
        return [place for place in found if not self.fails(kind, place)] or found

    def sent(self, work: Work) -> None:
        """A task goes to its place: as a try, if the kind has failed there."""
        streak = self._streaks.get((work.kind, work.place))
        work.is_try = streak is not None and streak.failures >= _IN_A_ROW and streak.is_due
        if work.is_try and streak is not None:
            streak.is_tried = True

    def words(self, kind: str) -> dict[str, str]:
        """The places that a kind avoids, and why."""
        return {
            place.name: f"{streak.failures} tasks of this kind failed there in a row"
            for place in self._places
            if (streak := self._streaks.get((kind, place.index))) is not None and streak.failures >= _IN_A_ROW
        }
