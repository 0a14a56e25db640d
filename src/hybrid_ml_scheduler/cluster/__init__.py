"""The clocked cluster: a compiled kernel for batches, a stepping form, metrics and proven bounds."""

from __future__ import annotations

from hybrid_ml_scheduler.cluster.bounds import Certificate, capacity, certificate
from hybrid_ml_scheduler.cluster.devices import BacklogView
from hybrid_ml_scheduler.cluster.simulation import Simulation
from hybrid_ml_scheduler.cluster.stepping import Cluster
from hybrid_ml_scheduler.cluster.summary import Summary, summarize
from hybrid_ml_scheduler.engine.batch import run_batch, run_by_estimates, run_held_batch
from hybrid_ml_scheduler.engine.columns import RunColumns

__all__ = [
    "BacklogView",
    "Certificate",
    "Cluster",
    "RunColumns",
    "Simulation",
    "Summary",
    "capacity",
    "certificate",
    "run_batch",
    "run_by_estimates",
    "run_held_batch",
    "summarize",
]
