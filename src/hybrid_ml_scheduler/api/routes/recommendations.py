"""Recommendations: which node and which policy keep a promise, searched for in the model."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path

from hybrid_ml_scheduler.api.dependencies import RecommendationsDep, require_api_key
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.recommendations import (
    Recommendation,
    RecommendationDemand,
    RecommendationList,
    RecommendationRemoved,
)

__all__ = ["router"]

router = APIRouter(prefix="/api/recommendations", tags=["recommendations"])

Id = Annotated[int, Path(ge=1, le=2**31)]
_CHANGING: dict[str, Any] = {
    "dependencies": [Depends(require_api_key)],
    "responses": problem_responses(401, 403, 404, 409),
}


@router.get("", responses=problem_responses())
async def list_recommendations(recommendations: RecommendationsDep) -> RecommendationList:
    """Return the recommendations that are kept, newest first, and the policies that are usually considered."""
    return await asyncio.to_thread(recommendations.all)


@router.post("", status_code=202, **_CHANGING)
async def recommend(recommendations: RecommendationsDep, demand: RecommendationDemand) -> Recommendation:
    """Search for the cheapest node and policy that keep a promise, beside the race; one search at a time."""
    return recommendations.ask(demand)


@router.get("/{recommendation_id}", responses=problem_responses(404))
async def get_recommendation(recommendations: RecommendationsDep, recommendation_id: Id) -> Recommendation:
    """Return a recommendation: how far its search is, or what was found."""
    return await asyncio.to_thread(recommendations.get, recommendation_id)


@router.post("/{recommendation_id}/cancel", **_CHANGING)
async def cancel_recommendation(recommendations: RecommendationsDep, recommendation_id: Id) -> Recommendation:
    """End a search. Repeating it changes nothing."""
    return await recommendations.cancel(recommendation_id)


@router.delete("/{recommendation_id}", **_CHANGING)
async def remove_recommendation(recommendations: RecommendationsDep, recommendation_id: Id) -> RecommendationRemoved:
    """Remove a recommendation."""
    return await recommendations.remove(recommendation_id)
