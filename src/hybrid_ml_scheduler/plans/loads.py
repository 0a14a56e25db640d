"""Workloads at a chosen load of a node: the arrival rate follows from the tasks themselves."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_ml_scheduler.cluster import capacity
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Durations, Node, durations
from hybrid_ml_scheduler.plans.file_tasks import FileTasks, TaskSource
from hybrid_ml_scheduler.workload import generate

__all__ = ["LoadedTasks", "at_load", "at_once"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedTasks:
    """A batch with its durations, and the load it puts on the node (infinite when all come at once)."""

    batch: TaskBatch
    seconds: Durations
    load: float


def at_load(law: TaskSource, node: Node, load: float, seed: int, count: int) -> LoadedTasks:
    """Tasks that arrive at `load` times the node's capacity for these very tasks."""
    if isinstance(law, FileTasks):
        found = law.tasks(seed, count)
        batch = law.at_rate(found, load * capacity(found, node))
        return LoadedTasks(batch=batch, seconds=durations(batch, node), load=load)
    law = law.with_values({"num_tasks": count, "arrival_law": "poisson"})
    rate = load * capacity(generate(law, seed), node)
    batch = generate(law.with_values({"arrival_rate": rate}), seed)
    return LoadedTasks(batch=batch, seconds=durations(batch, node), load=load)


def at_once(law: TaskSource, node: Node, seed: int, count: int) -> LoadedTasks:
    """Tasks that are all there at time zero."""
    if isinstance(law, FileTasks):
        batch = law.at_rate(law.tasks(seed, count), float("inf"))
    else:
        batch = generate(law.with_values({"num_tasks": count, "arrival_law": "batch"}), seed)
    return LoadedTasks(batch=batch, seconds=durations(batch, node), load=float("inf"))
