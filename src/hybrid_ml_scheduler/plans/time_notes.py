"""In words, where the GPU seconds of a workload on a node come from: measured, scaled, guessed, with counts."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import IntColumn, TaskBatch
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics.gpu_types import REFERENCE_TYPE, gpu_type
from hybrid_ml_scheduler.physics.node import Gpu, Node
from hybrid_ml_scheduler.physics.typed_times import TimeSource, typed_times

__all__ = ["time_notes"]


def time_notes(batch: TaskBatch, node: Node) -> tuple[str, ...]:
    """One sentence for each type of GPU on the node: for how many tasks its seconds are of which origin."""
    kinds = {gpu.type: gpu for gpu in node.gpus if gpu.type}
    if not kinds or (node.curves is not None and not batch.gpu_types and set(kinds) == {node.curves.gpu_type}):
        return ()  # a node without types, or one that is all of the profile's, which speaks for itself
    found = typed_times(batch, node, list(kinds.values()))
    return tuple(_told(gpu, batch, node, found.source[:, place]) for place, gpu in enumerate(kinds.values()))


def _told(gpu: Gpu, batch: TaskBatch, node: Node, source: IntColumn) -> str:
    words = _words(gpu, batch, node)
    counts = [(words[one], int(np.count_nonzero(source == one))) for one in TimeSource]
    parts = [f"{count:,} {text}" for text, count in counts if count]
    return f"GPU seconds on {gpu.type} ({amount(len(batch), 'task')}): {'; '.join(parts)}."


def _words(gpu: Gpu, batch: TaskBatch, node: Node) -> dict[TimeSource, str]:
    others = ", ".join(name for name in batch.gpu_types if name != gpu.type)
    published = "by published figures (peak FP32 and memory bandwidth, an assumption)"
    reference = "the profile's GPU"
    if node.curves is None:
        reference = f"the formula's GPU, taken as a {gpu_type(REFERENCE_TYPE, node.types).title} (an assumption),"
    scaled = "" if gpu.dense_speed == gpu.stream_speed == 1.0 else f" for {reference} scaled {published}"
    return {
        TimeSource.MEASURED: "measured on it",
        TimeSource.SCALED_BY_PROFILES: f"scaled from {others} by the ratio of measured profiles",
        TimeSource.SCALED_BY_FIGURES: f"scaled from {others} {published}",
        TimeSource.TYPE_NOT_NAMED: "given for a GPU whose type is not named, which this type does not change "
        "(--option gpu_type=NAME names it)",
        TimeSource.FROM_CPU_TIME: f"from the CPU time by the speed-up{scaled}",
        TimeSource.FORMULA: f"from size and intensity{scaled}",
    }
