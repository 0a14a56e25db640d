"""Alibaba openb pods: requests and lifetimes of pods on a GPU cluster."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import PARALLEL, SERIAL, Assumption, Records, unknown

__all__ = ["COLUMNS", "MB_PER_MIB", "gpu_share", "read"]

COLUMNS = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
DENSE_FROM_S = 9.0e6
MB_PER_MIB = 1.048576


def read(table: Table, options: TraceOptions) -> Records:
    """A pod is one task: its lifetime on the GPUs it held, times its share of one GPU, or its lifetime on the CPU."""
    table.unique("name", table.columns["name"])
    created = table.numbers("creation_time", least=0.0)
    lifetime = _lifetimes(table)
    share = gpu_share(table)
    memory = table.numbers("memory_mib", least=0.0) * MB_PER_MIB * options.memory_fraction
    table.numbers("cpu_milli", least=0.0)
    start = _start(created, options)
    kept = np.flatnonzero(~np.isnan(lifetime) & (created >= start))
    if len(kept) == 0:
        raise WorkloadError(f"{table.path}: no pod was ever scheduled after second {start:g}.")
    on_gpu = share[kept] > 0.0
    count = len(kept)
    return Records(
        task_id=np.arange(count),
        arrival_s=created[kept],
        cpu_s=np.where(on_gpu, np.nan, lifetime[kept]),
        gpu_s=np.where(on_gpu, lifetime[kept] * np.minimum(share[kept], 1.0), np.nan),
        intensity=unknown(count),
        memory_mb=memory[kept],
        mode=np.where(on_gpu, PARALLEL, SERIAL),
        parent_offsets=np.zeros(count + 1, dtype=np.int64),
        parent_ids=np.zeros(0, dtype=np.int64),
        notes=(*_notes(np.isnan(lifetime), created < start, start, options), *_asked_types(table, kept.tolist())),
        kind=_kinds(table, share, kept.tolist()),
        target_load=0.7,
        gpus_required=np.maximum(share[kept], 1.0).astype(np.int64),
        held_gpu=on_gpu,
    )


def _lifetimes(table: Table) -> FloatColumn:
    """Seconds from scheduling to deletion; NaN for a pod that never ran."""
    deleted = table.numbers("deletion_time", least=0.0)
    scheduled = table.numbers("scheduled_time", least=0.0, missing=np.nan)
    lifetime = deleted - scheduled
    table.refuse_first(lifetime < 0.0, "deletion_time", "at or after the scheduled_time")
    return lifetime


def gpu_share(table: Table) -> FloatColumn:
    """How many GPUs a pod holds: a fraction of one, or several."""
    gpus, milli = table.integers("num_gpu"), table.numbers("gpu_milli", least=0.0, most=1000.0)
    table.refuse_first((gpus == 1) & (milli == 0.0), "gpu_milli", "above 0 although num_gpu is 1")
    return np.where(gpus == 1, milli / 1000.0, gpus)


def _kinds(table: Table, share: FloatColumn, rows: list[int]) -> tuple[str, ...]:
    """The type of GPU that a pod asked for and its quality of service."""
    types, services = table.columns["gpu_spec"], table.columns["qos"]
    asked = [(types[row].strip() or "any GPU") if share[row] > 0.0 else "no GPU" for row in rows]
    return tuple(f"{one}, {services[row].strip()}".rstrip(", ") for one, row in zip(asked, rows, strict=True))


def _asked_types(table: Table, rows: list[int]) -> tuple[Assumption, ...]:
    """Whose wish for a type of GPU is not honoured."""
    asked = [table.columns["gpu_spec"][row].strip() for row in rows]
    types = sorted({one for wish in asked for one in wish.split("|") if one})
    if not types:
        return ()
    text = (
        f"{sum(map(bool, asked)):,} of {len(rows):,} pods asked for a type of GPU ({', '.join(types)}), which is "
        "ignored: any GPU of the node serves them, in the time they took."
    )
    return (Assumption(name="asked_gpu_type", text=text),)


def _start(created: FloatColumn, options: TraceOptions) -> float:
    """Where reading starts: as asked, else at the dense part of the public file if the trace reaches it."""
    if options.start_s is not None:
        return options.start_s
    return DENSE_FROM_S if created.max() >= DENSE_FROM_S else 0.0


def _notes(never: np.ndarray, early: np.ndarray, start: float, options: TraceOptions) -> tuple[Assumption, ...]:
    left_out = (
        f"{int(never.sum()):,} pods that never ran and {int((early & ~never).sum()):,} pods created before second "
        f"{start:g} are left out of {len(never):,}."
    )
    lifetime = (
        "the GPU time of a pod is its lifetime times its share of a GPU, or its lifetime on all its GPUs at once; its "
        "CPU time is its lifetime if it held none (services and failed pods included)."
    )
    memory = f"memory is {options.memory_fraction:g} of the host memory requested; GPU memory is not in the trace."
    return (
        Assumption(name="left_out", text=left_out),
        Assumption(name="lifetime_as_work", text=lifetime),
        Assumption(name="memory_from_request", text=memory),
    )
