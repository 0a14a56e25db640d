"""What the service offers, and how it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hybrid_ml_scheduler.core import Explains, Learns
from hybrid_ml_scheduler.core.knowledge import EXACT, Level, split_level
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.plans.palette import style_of
from hybrid_ml_scheduler.schedulers import SchedulerEntry
from hybrid_ml_scheduler.service.checkup import (
    ANSWER_WITHIN_S,
    cache_component,
    milliseconds,
    store_sign,
    taken_together,
)
from hybrid_ml_scheduler.service.control.asking import Pulse
from hybrid_ml_scheduler.service.control.run_control import RunControl
from hybrid_ml_scheduler.service.control.strategy_choices import StrategyChoices
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.views.workloads import workload_words
from hybrid_ml_scheduler.service.wire.catalog import About, Component, Health, Preset, StrategyCard
from hybrid_ml_scheduler.storage import Cache, Store, StoreWriter
from hybrid_ml_scheduler.workload import PRESETS

__all__ = ["LiveCatalog", "label_at_level", "preset_cards"]


def preset_cards() -> list[Preset]:
    """Return the workload presets."""
    return [
        Preset(
            name=name,
            description=workload_words(laws),
            arrival_rate=laws.arrival_rate,
            size_range=laws.size_range,
            intensity_range=laws.intensity_range,
            memory_range=laws.memory_range,
        )
        for name, laws in PRESETS.items()
    ]


def label_at_level(label: str, name: str, level: Level, of_run: Level) -> str:
    """A racer's label with what it is told, unless all are told the exact durations or its name says it already."""
    return label if level == of_run == EXACT or split_level(name)[1] else f"{label} ({level})"


class LiveCatalog:
    """Answers about the service itself."""

    def __init__(
        self,
        about: About,
        choices: StrategyChoices,
        arena: Arena,
        control: RunControl,
        store: Store,
        cache: Cache,
        writer: StoreWriter,
        telemetry: Telemetry,
    ) -> None:
        self._about = about
        self._choices = choices
        self._arena = arena
        self._pulse = Pulse(arena)
        self._control = control
        self._store = store
        self._cache = cache
        self._writer = writer
        self._telemetry = telemetry
        self._learn()

    def strategies(self) -> list[StrategyCard]:
        """List every strategy that may be asked for; those of the race first, plugins included."""
        self._learn()
        racing = self._choices.entries(self._control.plan.schedulers)
        others = [entry for name, entry in self._choices.all_entries().items() if name not in racing]
        cards = [self._card(entry, in_race=True) for entry in racing.values()]
        return cards + [self._card(entry, in_race=False) for entry in others]

    def plan_names(self, asked: Sequence[str]) -> list[str]:
        """Return the strategies a client asked for as a plan names them; files that nobody here named are refused."""
        self._learn()
        return self._choices.plan_names(asked)

    def _learn(self) -> None:
        self._choices.learn((*self._control.named, *self._control.plan.schedulers))

    def _card(self, entry: SchedulerEntry, *, in_race: bool) -> StrategyCard:
        racers = [] if self._arena.race is None else self._arena.race.racers
        racer = next((racer for racer in racers if racer.name == entry.name), None)
        strategy = None if racer is None else racer.scheduler
        return StrategyCard(
            name=entry.name,
            label=entry.label
            if racer is None
            else label_at_level(entry.label, racer.name, racer.level, self._control.plan.knowledge),
            color=style_of(entry.name).colour,
            kind=entry.kind,
            description=entry.summary,
            in_race=in_race,
            learns=entry.kind == "learner" or isinstance(strategy, Learns),
            explains=isinstance(strategy, Explains),
        )

    def presets(self) -> list[Preset]:
        """List the workload presets."""
        return preset_cards()

    def card(self) -> About:
        """Say what a client should know."""
        plan = self._control.plan
        changed = {"num_gpus": plan.node.num_gpus, "retrain_interval": plan.retrain_interval}
        return self._about.model_copy(update=changed)

    async def health(self) -> Health:
        """Ask every part how it is, all at once, and wait for none of them longer than a client would."""
        return taken_together(*await asyncio.gather(self._database(), cache_component(self._cache), self._engine()))

    async def _database(self) -> Component:
        found = await store_sign(self._store)
        writer, latency_ms = self._writer.health(), milliseconds(found.latency_s)
        if not found.ok:
            detail = f"{found.sentence} Waiting for it: {amount(writer.backlog_rows, 'row')}."
            return Component(status="down", latency_ms=latency_ms, detail=detail)
        if writer.differences:
            return Component(status="degraded", latency_ms=latency_ms, detail=writer.differences[0])
        if writer.state == "ok":
            return Component(status="ok", latency_ms=latency_ms, detail=found.sentence)
        if writer.state == "down":
            detail = f"{found.sentence} Storing: {writer.last_error} Waiting: {amount(writer.backlog_rows, 'row')}."
        else:  # a writer that has ended is a fault, too, as long as somebody can ask
            detail = f"{found.sentence} Nothing more is stored: {writer.last_error or 'the writer has ended.'}"
        return Component(status="degraded", latency_ms=latency_ms, detail=detail)

    async def _engine(self) -> Component:
        """Say how the arena is; it answers between two turns, which take well under a second on a busy machine too."""
        if not self._arena.is_alive:
            return Component(status="down", latency_ms=None, detail="The arena's thread has ended.")
        latency_s, silence = await self._pulse.feel(within_s=ANSWER_WITHIN_S)
        if latency_s is None:
            return Component(status="down", latency_ms=None, detail=silence)
        status, problem, latency_ms = self._arena.status(), self._arena.problem, milliseconds(latency_s)
        if problem is not None:
            return Component(status="degraded", latency_ms=latency_ms, detail=problem)
        detail = f"{status.state}, {amount(status.tasks_processed, 'task')} in this run."
        if status.storage == "waiting":
            return Component(status="degraded", latency_ms=latency_ms, detail=f"{detail} The store slows the race.")
        return Component(status="ok", latency_ms=latency_ms, detail=detail)

    async def metrics(self) -> bytes:
        """Return the Prometheus text."""
        return self._telemetry.text()
