"""In words, how times that a file does not have are found: never silently."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.tasks import TaskBatch

__all__ = ["missing_time_notes", "share_of"]


def share_of(marked: npt.NDArray[np.bool_]) -> str:
    """So many of so many tasks."""
    return "all tasks" if marked.all() else f"{int(marked.sum()):,} of {len(marked):,} tasks"


def missing_time_notes(batch: TaskBatch, spread: str = "") -> list[str]:
    """One sentence for each way in which a device's seconds are not measured, where any are; `spread` ends them."""
    no_cpu, wants = np.isnan(batch.cpu_time), batch.gpus_required > 0
    no_gpu = np.isnan(batch.gpu_time) & np.isnan(batch.gpu_times).all(axis=1)
    if no_cpu.all() and no_gpu.all():
        return []  # nothing is measured: sizes are meant to be turned into seconds
    notes = []
    cases = (
        (no_cpu & ~no_gpu & ~batch.gpu_only, "cpu", "CPU", "GPU time x the speed-up"),
        (no_gpu & ~no_cpu & wants, "gpu", "GPU", "CPU time / the speed-up, plus transfer and launch"),
    )
    for missing, key, device, form in cases:
        if missing.any():
            notes.append(
                f"guessed_{key}_time: the {device} time of {share_of(missing)} is not measured; it is the {form}. "
                f"The speed-up is that of the node's physics for the task{spread}."
            )
    if not wants.all():
        notes.append(f"no_gpu: {share_of(~wants)} without a GPU run on the CPU, whatever is decided.")
    neither = no_cpu & no_gpu
    if neither.any():
        notes.append(
            f"computed_times: {share_of(neither)} have no measured time; theirs follow from size and intensity by "
            "the node's physics."
        )
    return notes
