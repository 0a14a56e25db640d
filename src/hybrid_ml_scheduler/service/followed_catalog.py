"""What a service that follows offers, and how it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.service.catalog import preset_cards
from hybrid_ml_scheduler.service.checkup import cache_component, milliseconds, store_sign, taken_together
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.viewers.mirror import Mirror
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS
from hybrid_ml_scheduler.service.wire.catalog import About, Component, Health, Preset, StrategyCard
from hybrid_ml_scheduler.storage import Cache, Store

__all__ = ["FollowedCatalog"]


class FollowedCatalog:
    """Answers about this service with what it knows itself, and about the race with what it has heard."""

    def __init__(self, about: About, mirror: Mirror, store: Store, cache: Cache, telemetry: Telemetry) -> None:
        self._about = about
        self._mirror = mirror
        self._store = store
        self._cache = cache
        self._telemetry = telemetry

    def strategies(self) -> list[StrategyCard]:
        """List the strategies of the service that runs the race."""
        return list(self._mirror.cards)

    def plan_names(self, asked: Sequence[str]) -> list[str]:
        """Return what was asked for: whoever could begin a race with it is elsewhere."""
        return list(asked)

    def presets(self) -> list[Preset]:
        """List the workload presets."""
        return preset_cards()

    def card(self) -> About:
        """Say what a client should know."""
        status = self._mirror.update(DEFAULT_FOCUS).status
        if status.run_id is None:
            return self._about
        heard = {"num_gpus": status.num_gpus, "retrain_interval": status.retrain_interval}
        return self._about.model_copy(update=heard)

    async def health(self) -> Health:
        """Ask every part how it is, all at once."""
        database, cache = await asyncio.gather(self._database(), cache_component(self._cache))
        return taken_together(database, cache, self._engine())

    async def _database(self) -> Component:
        found = await store_sign(self._store)
        latency_ms = milliseconds(found.latency_s)
        return Component(status="ok" if found.ok else "down", latency_ms=latency_ms, detail=found.sentence)

    def _engine(self) -> Component:
        """The engine is in another process: what is known of it is how long it has been silent."""
        problem, silent_ms = self._mirror.problem, milliseconds(self._mirror.silent_s)
        if problem is not None:
            return Component(status="down", latency_ms=None, detail=problem)
        status = self._mirror.update(DEFAULT_FOCUS).status
        if status.problem is not None:
            return Component(status="degraded", latency_ms=silent_ms, detail=status.problem)
        detail = f"Followed: {status.state}, {amount(status.tasks_processed, 'task')} in this run."
        return Component(status="ok", latency_ms=silent_ms, detail=detail)

    async def metrics(self) -> bytes:
        """Return the Prometheus text."""
        return self._telemetry.text()
