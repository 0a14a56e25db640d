"""The screen of a process that follows: what the process that runs the race says, told on."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Collection, Sequence

from pydantic import ValidationError

from hybrid_ml_scheduler.live.frames import idle_frame, moment
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.ports import Catalog
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS, Screen
from hybrid_ml_scheduler.service.views.live import load_view, update_view
from hybrid_ml_scheduler.service.wire.catalog import StrategyCard
from hybrid_ml_scheduler.service.wire.live import RELAYED, Handout, LogLine, Notification, SimulationUpdate
from hybrid_ml_scheduler.storage import Cache

__all__ = ["ASKING", "UPDATES", "Mirror", "hand_out", "relay_updates"]

# It is asked for a sign of life after a second without one; an engine under full load answers well before this.
_SILENT_S = 2.5
_SHOWN = 20  # tasks in one update, as for viewers of the race itself
_NOT_YET = "The service that runs the race has not been heard yet."
_SILENT = "The service that runs the race has not been heard since {:%H:%M:%S} UTC; this is the last it said."
_STRANGE = "The service that runs the race speaks of things unknown here; both must be of the same version."


class Mirror(Screen):
    """Shows what it hears. Its own numbers never go back, and leave out as many as it missed."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.cards: Sequence[StrategyCard] = ()
        self.problem: str | None = _NOT_YET
        self.has_thread = False
        self._latest = update_view(idle_frame(time.time()), 0, DEFAULT_FOCUS)
        self._service = ""
        self._heard_s = time.monotonic()
        self._heard_at = time.time()
        self._last_line = 0

    @property
    def strategies(self) -> Collection[str]:
        """The strategies of the race."""
        return self._latest.clusters.keys()

    @property
    def silent_s(self) -> float:
        """Seconds since anything was heard."""
        return time.monotonic() - self._heard_s

    def update(self, focus: str) -> SimulationUpdate:
        """Return the newest update for a focus; a problem of our own stands beside one of the race."""
        latest, status = self._latest, self._latest.status
        if self.problem is not None:
            status = status.model_copy(update={"out_of_sight": self.problem})
        load = latest.clusters.get(focus) or load_view({})
        changed = {"seq": self.seq, "focus": focus, "utilization": load, "status": status}
        return latest.model_copy(update=changed)

    def take(self, message: bytes) -> None:
        """Take something that was said."""
        try:
            said = RELAYED.validate_json(message)
        except ValidationError:
            self._suffer(_STRANGE)
            return
        self._heard_s, self._heard_at = time.monotonic(), time.time()
        if isinstance(said, Handout):
            self._begin(said)
        elif isinstance(said, SimulationUpdate):
            self._show(said)
        else:
            self._tell(said)

    def miss(self) -> None:
        """Nothing was heard for a while; viewers are told if it has been too long."""
        self.has_thread = False
        if self.silent_s > _SILENT_S:
            self._suffer(_NOT_YET if not self._service else _SILENT.format(moment(self._heard_at)))

    def _begin(self, handout: Handout) -> None:
        """Take up the thread; one who has it, because others asked, has nothing to learn."""
        if self.has_thread and handout.service == self._service:
            return
        self.has_thread, self.cards = True, handout.strategies
        snapshot, is_another = handout.snapshot, handout.service != self._service
        if is_another:
            self._service, self._last_line = handout.service, 0
            self._notices.clear()
            self._log.clear()
        lines: list[Notification | LogLine] = [*snapshot.notifications, *snapshot.log]
        for line in sorted(lines, key=lambda one: one.id):
            self._tell(line)
        if is_another or self.problem is not None or snapshot.seq != self._latest.seq:
            known = self._tasks[-1].id if self._tasks else -1
            unseen = [task for task in snapshot.recent_tasks if task.id > known]
            self._advance(snapshot.update.model_copy(update={"recent_tasks": unseen[-_SHOWN:]}), is_another)
        self._tasks.clear()
        self._tasks.extend(snapshot.recent_tasks)
        self._changes += 1

    def _show(self, said: SimulationUpdate) -> None:
        if self._service and said.seq <= self._latest.seq:
            # It was in the handout, or a service that began anew has said it; the next handout tells.
            self.has_thread = self.has_thread and said.seq == self._latest.seq and self.problem is None
            return
        if said.status.run_id != self._latest.status.run_id:
            self.has_thread = False  # other strategies may be in the race
        self._advance(said, not self._service)

    def _advance(self, said: SimulationUpdate, is_another: bool) -> None:
        missed = 0 if is_another else max(0, said.seq - self._latest.seq - 1)
        is_same_run = said.status.run_id == self._latest.status.run_id
        self._latest, self.problem = said, None
        self._refreshed(self.seq + 1 + missed, said.recent_tasks, is_same_run=is_same_run)

    def _tell(self, line: Notification | LogLine) -> None:
        if line.id > self._last_line:
            self._last_line = line.id
            self._noted(line)

    def _suffer(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._refreshed(self.seq + 1, (), is_same_run=True)


UPDATES = "updates"
ASKING = "asking"

_BETWEEN_HANDOUTS_S = 0.1


async def relay_updates(hub: Hub, screen: Screen, cache: Cache) -> None:
    """Publish every update and line; the cache never waits for whoever listens."""
    with hub.connection(DEFAULT_FOCUS, is_viewer=False) as connection:
        while True:
            lines, fresh = await connection.news()
            for message in [*lines, screen.encoded_update(connection.focus)] if fresh else lines:
                await cache.publish(UPDATES, message.encode())


async def hand_out(screen: Screen, catalog: Catalog, cache: Cache) -> None:
    """Answer whoever asks to follow with all that there is to know; those who ask together get one answer."""
    service = secrets.token_hex(8)
    async with cache.subscribe(ASKING, capacity=1) as questions:
        async for _ in questions:
            whole, cards = screen.whole(DEFAULT_FOCUS), catalog.strategies()
            handout = Handout(service=service, snapshot=whole, strategies=cards)
            await cache.publish(UPDATES, handout.model_dump_json().encode())
            await asyncio.sleep(_BETWEEN_HANDOUTS_S)
