"""The routes, grouped by what they are about."""

from __future__ import annotations

from hybrid_ml_scheduler.api.routes import catalog, history, learning, motion, runs, simulation, tasks

__all__ = ["ROUTERS"]

ROUTERS = (
    simulation.router,
    tasks.router,
    history.router,
    learning.router,
    motion.router,
    runs.router,
    catalog.router,
)
