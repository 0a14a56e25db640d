"""The engine: one state, one loop. Batches, steps and replays are callers of it."""

from __future__ import annotations

from hybrid_ml_scheduler.engine.batch import run_batch, run_by_estimates, run_held_batch
from hybrid_ml_scheduler.engine.columns import RunColumns

__all__ = ["RunColumns", "run_batch", "run_by_estimates", "run_held_batch"]
