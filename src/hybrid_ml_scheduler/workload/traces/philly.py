"""Microsoft Philly jobs as a flat CSV: submission, duration and number of GPUs."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import PARALLEL, Assumption, Records, unknown

__all__ = ["COLUMNS", "read"]

COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
_TOLERANCE = 1e-6


def read(table: Table, options: TraceOptions) -> Records:
    """A job is one task that holds its GPUs at once for its measured run time."""
    del options
    arrival = table.seconds("timestamp")
    duration = table.numbers("duration", least=0.0)
    gpus = table.integers("num_gpus", least=1)
    gpu_s = table.numbers("gpu_time", least=0.0)
    expected = duration * gpus
    table.refuse_first(np.abs(gpu_s - expected) > _TOLERANCE * expected, "gpu_time", "duration times num_gpus")
    count = len(table)
    by_time = np.argsort(arrival, kind="stable")
    ids = np.empty(count, dtype=np.int64)
    ids[by_time] = np.arange(count)
    return Records(
        task_id=ids,
        arrival_s=arrival,
        cpu_s=unknown(count),
        gpu_s=duration,
        intensity=unknown(count),
        memory_mb=unknown(count),
        mode=np.full(count, PARALLEL),
        parent_offsets=np.zeros(count + 1, dtype=np.int64),
        parent_ids=np.zeros(0, dtype=np.int64),
        notes=(_note(gpus),),
        kind=tuple(name.strip() for name in table.columns["cluster"]),
        target_load=0.7,
        gpus_required=gpus,
        held_gpu=np.ones(count, dtype=np.bool_),
    )


def _note(gpus: np.ndarray) -> Assumption:
    text = (
        "the GPU time of a job is measured: its run time summed over attempts, on all its GPUs at once "
        f"({np.mean(gpus > 1):.1%} of the jobs need more than one)."
    )
    return Assumption(name="gang_seconds", text=text)
