"""What the service offers, and how it is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from hybrid_ml_scheduler.api.dependencies import CatalogDep
from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES
from hybrid_ml_scheduler.plans.metrics import CATALOGUE, MetricCard
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.catalog import About, GpuTypeCard, Health, Preset, StrategyCard

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["catalog"], responses=problem_responses())

_HEALTH: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "The database is down."}}


@router.get("/health", responses=_HEALTH)
async def health(catalog: CatalogDep, response: Response) -> Health:
    """Ask database, cache and engine how they are; 503 when the database is down."""
    found = await catalog.health()
    response.status_code = 503 if found.status == "down" else 200
    return found


@router.get("/strategies")
async def strategies(catalog: CatalogDep) -> list[StrategyCard]:
    """List every registered strategy, plugins included."""
    return catalog.strategies()


@router.get("/presets")
async def presets(catalog: CatalogDep) -> list[Preset]:
    """List the workload presets."""
    return catalog.presets()


@router.get("/gpu_types")
async def gpu_types() -> list[GpuTypeCard]:
    """List the types of GPU that a new run's node can have."""
    fields = GpuTypeCard.model_fields
    return [GpuTypeCard(**{name: getattr(one, name) for name in fields}) for one in GPU_TYPES.values()]


@router.get("/catalogue")
async def catalogue() -> list[MetricCard]:
    """List every metric: its name in tables and in live updates, its unit, and what it means."""
    return list(CATALOGUE.values())


@router.get("/settings")
async def settings(catalog: CatalogDep) -> About:
    """Say what a client should know about this service."""
    return catalog.card()


_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", response_class=Response, responses=_TEXT)
async def metrics(catalog: CatalogDep) -> Response:
    """Return the metrics in the Prometheus text format."""
    return Response(await catalog.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")
