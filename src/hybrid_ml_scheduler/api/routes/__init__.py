"""The routes, grouped by what they are about."""

from __future__ import annotations

from hybrid_ml_scheduler.api.routes import catalog, history, motion, recommendations, runs, simulation, uploads

__all__ = ["ROUTERS"]

ROUTERS = (
    simulation.router,
    simulation.task_router,
    history.router,
    history.learning_router,
    motion.router,
    runs.router,
    uploads.router,
    recommendations.router,
    catalog.router,
)
