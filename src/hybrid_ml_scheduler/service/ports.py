"""What the routes need from the rest of the service, as small contracts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from hybrid_ml_scheduler.service.wire.catalog import About, Health, Preset, StrategyCard
from hybrid_ml_scheduler.service.wire.history import (
    ComparativeTask,
    Events,
    Models,
    ModelVersion,
    TrainingRecord,
)
from hybrid_ml_scheduler.service.wire.live import Snapshot
from hybrid_ml_scheduler.service.wire.measured import MeasuredEnd, MeasuredResults, MeasuredTasks, NewMeasuredRun
from hybrid_ml_scheduler.service.wire.runs import RunCard, RunComparison, RunList, RunPatch, RunRemoved
from hybrid_ml_scheduler.service.wire.simulation import (
    BranchRequest,
    NewRunLoad,
    SimulationPatch,
    SimulationStatus,
    StartRequest,
)
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice, TaskAudit
from hybrid_ml_scheduler.service.wire.what_if import Costliest, WhatIfAnswer
from hybrid_ml_scheduler.storage import ExportFormat, ExportTable, HistoryCleared, LedgerPage, LedgerQuery

__all__ = [
    "Archive",
    "Catalog",
    "Download",
    "Race",
    "Runs",
    "StatsWindow",
]

StatsWindow = Annotated[int, Field(ge=10, le=10_000)] | Literal["shift", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file that is made while it is sent."""

    filename: str
    media_type: str
    chunks: AsyncIterator[bytes]


class Race(Protocol):
    """The race as the routes steer it."""

    async def start(self, request: StartRequest) -> SimulationStatus:
        """Begin, continue or begin anew."""

    async def preview(self, request: StartRequest) -> NewRunLoad:
        """Say how much work a new run would bring its node; nothing is begun."""

    async def stop(self) -> SimulationStatus:
        """Stop; everything decided so far is stored."""

    async def pause(self) -> SimulationStatus:
        """Hold the race where it is."""

    async def resume(self) -> SimulationStatus:
        """Go on after a pause."""

    async def change(self, patch: SimulationPatch) -> SimulationStatus:
        """Change speed, arrival rate or workload while running."""

    async def branch(self, run_id: int, request: BranchRequest) -> SimulationStatus:
        """Begin a run that leaves a stored one at a task of it."""

    def status(self) -> SimulationStatus:
        """Say where the race stands."""

    async def call_back(self, scheduler: str) -> ModelVersion:
        """Let a strategy's earlier model decide from the next task on."""

    async def advise(self, task: NewTask, run: bool) -> TaskAdvice:
        """Ask every strategy about a task; with `run`, put it into the race too."""


class Archive(Protocol):
    """What has been stored."""

    async def full_history(self, limit: int) -> list[TrainingRecord]:
        """Return the latest training records, newest first."""

    async def comparative(self, limit: int) -> list[ComparativeTask]:
        """Return the latest tasks with every strategy's result, newest first."""

    async def clear(self) -> HistoryCleared:
        """Remove every stored row and begin a new run."""

    async def export(self, table: ExportTable, file_format: ExportFormat) -> Download:
        """Return a whole table as a file."""

    async def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of the ledger."""

    async def audit(self, task_id: int) -> TaskAudit:
        """Return a task from every side."""

    async def trend(self, points: int, run_id: int | None, latest: int | None, last_task: int | None = None) -> bytes:
        """Return the long-term trend with its markers: a `Trend` as JSON."""

    async def load(self, scheduler: str, run_id: int | None, span_s: float, last_task: int | None = None) -> bytes:
        """Return how busy the devices were: a `LoadHistory` as JSON."""

    async def models(self, limit: int, run_id: int | None) -> Models:
        """Return the retraining history."""

    async def events(self, limit: int, run_id: int | None) -> Events:
        """Return shifts and notifications."""

    async def stats(
        self, window: StatsWindow, scheduler: str, run_id: int | None, last_task: int | None = None
    ) -> bytes:
        """Return the statistics over the latest tasks: a `Stats` as JSON."""


class Runs(Protocol):
    """The stored runs."""

    async def page(self, limit: int, before: int | None) -> RunList:
        """Return the stored runs, newest first."""

    async def get(self, run_id: int) -> RunCard:
        """Return one run."""

    async def describe(self, run_id: int, patch: RunPatch) -> RunCard:
        """Give a run a name or a note."""

    async def remove(self, run_id: int) -> RunRemoved:
        """Remove a run with all its rows."""

    async def compare(self, run_ids: Sequence[int]) -> RunComparison:
        """Return runs side by side."""

    async def snapshot(self, run_id: int, task_id: int | None = None) -> Snapshot:
        """Return the last that was shown of a run, or how it stood when a task had arrived."""

    async def begin_measured(self, new: NewMeasuredRun) -> RunCard:
        """Begin to take in a real run."""

    async def add_measured_tasks(self, run_id: int, chunk: MeasuredTasks) -> RunCard:
        """Take in tasks of a real run."""

    async def end_measured(self, run_id: int, last: MeasuredEnd) -> RunCard:
        """Note the end of a real run that was followed."""

    async def add_measured_results(self, run_id: int, chunk: MeasuredResults) -> RunCard:
        """Take in results of a real run."""

    async def what_if(self, run_id: int, scheduler: str, task_id: int) -> WhatIfAnswer:
        """Return what every other decision for a task would have done."""

    async def costliest(self, run_id: int, scheduler: str, count: int, looked_at: int) -> Costliest:
        """Return the decisions of a strategy that cost most."""


class Catalog(Protocol):
    """What the service offers and how it is."""

    def strategies(self) -> list[StrategyCard]:
        """List every registered strategy."""

    def plan_names(self, asked: Sequence[str]) -> list[str]:
        """Return the strategies a client asked for as a plan names them."""

    def presets(self) -> list[Preset]:
        """List the workload presets."""

    def card(self) -> About:
        """Say what a client should know."""

    async def health(self) -> Health:
        """Ask every part how it is."""

    async def metrics(self) -> bytes:
        """Return the Prometheus text."""
