"""The reference job: greedy shares, Poisson arrivals, 1 CPU + 4 GPUs, every task split, least-backlog GPU."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.workload import generate, preset

__all__ = ["reference_job", "same_schedule"]

SEED = 7


def reference_job(count: int) -> TaskBatch:
    """The tasks of the job: the preset `mixed` at its own rate."""
    return generate(preset("mixed").with_values({"num_tasks": count}), SEED)


def same_schedule(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two programs finished every task at the same moment."""
    return bool(np.allclose(ours, theirs, rtol=1e-9, atol=1e-9))
