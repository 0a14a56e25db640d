"""A keeper and viewers in memory, and an arena to try them on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.frames import Frame
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, Notice, Retraining, Rows
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.spelled import spelled_out

CHEAP = ("round_robin", "random", "greedy")
# The classic forest trains every interval from the first task on, which is what these races are about.
CLASSIC = {"hybrid_ml": {"mode": "share"}}


def mixed_course(
    schedulers: tuple[str, ...], *, retraining: Retraining = "background", retrain_interval: int = 50
) -> Course:
    return Course(
        seed=1,
        node=Node(),
        preset="mixed",
        workload=preset("mixed"),
        schedulers=schedulers,
        options=CLASSIC,
        retraining=retraining,
        retrain_interval=retrain_interval,
    )


class MemoryKeeper:
    """Keeps rows in a list; its room can be taken away and given back."""

    def __init__(self) -> None:
        self.kept: list[Rows] = []
        self.is_up = True
        self.refusal: str | None = None
        self.backlog = 0
        self._open = threading.Event()
        self._open.set()

    def has_room(self, rows: int) -> bool:
        return self._open.is_set()

    def keep(self, rows: Rows) -> None:
        self.kept.append(spelled_out(rows))

    def shut(self) -> None:
        self._open.clear()

    def reopen(self) -> None:
        self._open.set()

    @property
    def task_ids(self) -> list[int]:
        return [task.task_id for rows in list(self.kept) for task in rows.tasks]

    @property
    def notices(self) -> list[Notice]:
        return [notice for rows in list(self.kept) for notice in rows.notices]


class MemoryViewers:
    """Remembers what it was shown."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.notices: list[Notice] = []

    def show(self, frame: Frame) -> None:
        self.frames.append(frame)

    def tell(self, notice: Notice) -> None:
        self.notices.append(notice)


class House:
    """An arena that runs."""

    def __init__(self, arena: Arena, keeper: MemoryKeeper, viewers: MemoryViewers) -> None:
        self.arena, self.keeper, self.viewers = arena, keeper, viewers

    def enter(self, *schedulers: str, retraining: Retraining = "background", retrain_interval: int = 50) -> Race:
        course = mixed_course(schedulers or CHEAP, retraining=retraining, retrain_interval=retrain_interval)
        race = Race(course, run_id=1, first_task_id=0)
        self.arena.ask(lambda: self.arena.enter(race, "running")).result()
        return race

    def wait(self, holds: Callable[[], bool], within_s: float = 120.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline_s, "it did not come true in time"
            time.sleep(0.005)


@contextlib.contextmanager
def house(speed: float = 0.0) -> Iterator[House]:
    keeper, viewers = MemoryKeeper(), MemoryViewers()
    arena = Arena(keeper, viewers, speed=speed, frame_every_s=0.05)
    arena.start()
    try:
        yield House(arena, keeper, viewers)
    finally:
        keeper.reopen()
        arena.close()
