"""What a dialect reader hands over: only what the file says, with NaN for everything it does not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn

__all__ = ["ANY_MODE", "PARALLEL", "SERIAL", "Assumption", "Records", "unknown"]

ANY_MODE, SERIAL, PARALLEL = -1, 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A guess with a name, said in one sentence with its figures."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def unknown(count: int) -> FloatColumn:
    """A column that the file does not have."""
    return np.full(count, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Columns of a trace in file order; `mode` says which hump of intensity a task belongs to, if anything does.

    `kind` says what sort of work a task is ("" = the file does not say), `requested_s` what its user asked for.
    `gpu_times` are seconds by type of GPU (a column for each of `gpu_types`), `gpus_required` how many GPUs at once.
    `held_gpu` says which tasks ran on GPUs, in traces that tell; `fp32` that all computed without tensor cores.
    `target_load` is the dialect's default for traces whose cluster was larger than a node.
    """

    task_id: IntColumn
    arrival_s: FloatColumn
    cpu_s: FloatColumn
    gpu_s: FloatColumn
    intensity: FloatColumn
    memory_mb: FloatColumn
    mode: IntColumn
    parent_offsets: IntColumn
    parent_ids: IntColumn
    notes: tuple[Assumption, ...]
    kind: tuple[str, ...] = field(default=())
    requested_s: FloatColumn | None = field(default=None)
    target_load: float | None = field(default=None)
    gpu_times: FloatColumn | None = field(default=None)
    gpu_types: tuple[str, ...] = field(default=())
    gpus_required: IntColumn | None = field(default=None)
    held_gpu: BoolColumn | None = field(default=None)
    fp32: bool = False

    def __len__(self) -> int:
        return len(self.task_id)
