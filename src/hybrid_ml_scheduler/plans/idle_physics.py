"""Figures of the physics that a workload leaves idle: refused where they would change nothing, named where little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import BoolColumn, TaskBatch
from hybrid_ml_scheduler.physics.node import Gpu, MemoryRule, Node

__all__ = ["idle_notes", "refuse_idle_physics"]

_USUAL, _USUAL_GPU = Node(), Gpu()


def refuse_idle_physics(batch: TaskBatch, node: Node, source: str) -> None:
    """Refuse a figure that was set and would change the time of no task, since all of them are measured."""
    for name, acts in _figures(batch, node):
        if not acts.any():
            raise PlanError(
                f"{name} would change nothing: the times of all {len(batch):,} tasks of {source} that it could act on "
                "are measured; leave it out."
            )


def idle_notes(batch: TaskBatch, node: Node) -> tuple[str, ...]:
    """For how many tasks a figure that was set acts, where that is not all of them."""
    return tuple(
        f"{name} acts on {int(acts.sum()):,} of {len(batch):,} tasks; the times of the others are measured."
        for name, acts in _figures(batch, node)
        if acts.any() and not acts.all()
    )


def _figures(batch: TaskBatch, node: Node) -> Iterator[tuple[str, BoolColumn]]:
    """Figures that are not the usual ones, and the tasks whose seconds they change; a profile brings its own."""
    if node.curves is not None:
        return
    no_cpu = np.isnan(batch.cpu_time)
    no_gpu = np.isnan(batch.gpu_time) & np.isnan(batch.gpu_times).all(axis=1)
    if node.max_speedup != _USUAL.max_speedup:
        yield f"physics.max_speedup = {node.max_speedup:g}", no_cpu | no_gpu
    if node.speedup_law != _USUAL.speedup_law:
        yield f"physics.speedup_law = {node.speedup_law.name.lower()}", no_cpu | no_gpu
    moved = batch.memory_required > 0.0
    for index, gpu in enumerate(node.gpus):
        if gpu.bandwidth_mb_s != _USUAL_GPU.bandwidth_mb_s and not gpu.type and node.memory_rule != MemoryRule.PAGE:
            yield f"physics: the bandwidth of gpu_{index} ({gpu.bandwidth_mb_s:g} MB/s)", no_gpu & moved
            return
