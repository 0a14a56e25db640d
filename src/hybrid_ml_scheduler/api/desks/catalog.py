"""What the service offers, and how it is."""

from __future__ import annotations

from hybrid_ml_scheduler.api.desks.race import RaceDesk
from hybrid_ml_scheduler.api.desks.telemetry import Telemetry
from hybrid_ml_scheduler.api.wire.catalog import About, Component, Health, Preset, StrategyCard
from hybrid_ml_scheduler.core import Explains, Learns
from hybrid_ml_scheduler.experiments.palette import style_of
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.schedulers import SchedulerEntry, available, find
from hybrid_ml_scheduler.storage import Cache, Store, StoreWriter, ping
from hybrid_ml_scheduler.workload import PRESETS

__all__ = ["CatalogDesk"]

_PING_WITHIN_S = 1.0


class CatalogDesk:
    """Answers about the service itself."""

    def __init__(
        self,
        about: About,
        arena: Arena,
        desk: RaceDesk,
        store: Store,
        cache: Cache,
        writer: StoreWriter,
        telemetry: Telemetry,
    ) -> None:
        self._about = about
        self._entries = available()  # looking through all installed distributions takes long, so once
        self._arena = arena
        self._desk = desk
        self._store = store
        self._cache = cache
        self._writer = writer
        self._telemetry = telemetry

    def strategies(self) -> list[StrategyCard]:
        """List every registered strategy; those of the race first, plugins included."""
        racing = {entry.name: entry for entry in map(self._found, self._desk.plan.schedulers)}
        named = {entry.name: entry for entry in map(self._found, self._desk.named)}
        others = [entry for name, entry in (self._entries | named).items() if name not in racing]
        cards = [self._card(entry, in_race=True) for entry in racing.values()]
        return cards + [self._card(entry, in_race=False) for entry in others]

    def _found(self, spec: str) -> SchedulerEntry:
        return self._entries.get(spec) or find(spec)

    def _card(self, entry: SchedulerEntry, *, in_race: bool) -> StrategyCard:
        racers = [] if self._arena.race is None else self._arena.race.racers
        strategy = next((racer.scheduler for racer in racers if racer.name == entry.name), None)
        return StrategyCard(
            name=entry.name,
            label=entry.label,
            color=style_of(entry.name).colour,
            kind=entry.kind,
            description=entry.summary,
            in_race=in_race,
            learns=entry.kind == "learner" or isinstance(strategy, Learns),
            explains=isinstance(strategy, Explains),
        )

    def presets(self) -> list[Preset]:
        """List the workload presets."""
        return [
            Preset(
                name=name,
                description=f"{laws.size_law} sizes, {laws.intensity_law} intensity, memory {laws.memory_law}",
                arrival_rate=laws.arrival_rate,
                size_range=laws.size_range,
                intensity_range=laws.intensity_range,
                memory_range=laws.memory_range,
            )
            for name, laws in PRESETS.items()
        ]

    def card(self) -> About:
        """Say what a client should know."""
        plan = self._desk.plan
        changed = {"num_gpus": plan.node.num_gpus, "retrain_interval": plan.retrain_interval}
        return self._about.model_copy(update=changed)

    async def health(self) -> Health:
        """Ask every part how it is."""
        database, cache, engine = await self._database(), await self._cached(), self._engine()
        if database.status == "down":
            status = "down"
        else:
            status = "ok" if {database.status, cache.status, engine.status} == {"ok"} else "degraded"
        return Health.model_validate({"status": status, "database": database, "cache": cache, "engine": engine})

    async def _database(self) -> Component:
        found, writer = await ping(self._store, timeout_s=_PING_WITHIN_S), self._writer.health()
        latency_ms = None if found.latency_s is None else 1000.0 * found.latency_s
        if not found.ok:
            detail = f"{found.sentence} {writer.backlog_rows} rows wait for it."
            return Component(status="down", latency_ms=latency_ms, detail=detail)
        if writer.differences:
            return Component(status="degraded", latency_ms=latency_ms, detail=writer.differences[0])
        if writer.state in ("ok", "closed"):
            return Component(status="ok", latency_ms=latency_ms, detail=found.sentence)
        detail = f"{found.sentence} Storing: {writer.last_error} {writer.backlog_rows} rows wait."
        return Component(status="degraded", latency_ms=latency_ms, detail=detail)

    async def _cached(self) -> Component:
        found = await self._cache.ping(timeout_s=_PING_WITHIN_S)
        latency_ms = None if found.latency_s is None else 1000.0 * found.latency_s
        return Component(status="ok" if found.ok else "degraded", latency_ms=latency_ms, detail=found.sentence)

    def _engine(self) -> Component:
        status, problem = self._arena.status(), self._arena.problem
        if not self._arena.is_alive:
            return Component(status="down", latency_ms=None, detail="The arena's thread has ended.")
        if problem is not None:
            return Component(status="degraded", latency_ms=None, detail=problem)
        detail = f"{status.state}, {status.tasks_processed} tasks in this run."
        if status.storage == "waiting":
            return Component(status="degraded", latency_ms=0.0, detail=f"{detail} The store slows the race.")
        return Component(status="ok", latency_ms=0.0, detail=detail)

    async def metrics(self) -> bytes:
        """Return the Prometheus text."""
        return self._telemetry.text()
