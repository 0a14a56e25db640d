"""Alibaba openb pod lists without times (cpu050, gpushare40, multigpu50, ...): requests only, so times are drawn."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces.openb import MB_PER_MIB, gpu_share
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import PARALLEL, SERIAL, Assumption, Records, unknown

__all__ = ["COLUMNS", "read"]

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")


def read(table: Table, options: TraceOptions) -> Records:
    """A pod is one task; its lifetime and its arrival are drawn, since the list has neither."""
    table.unique("name", table.columns["name"])
    share = gpu_share(table)
    memory = table.numbers("memory_mib", least=0.0) * MB_PER_MIB * options.memory_fraction
    table.numbers("cpu_milli", least=0.0)
    count = len(table)
    # The list is one sequence of requests: its drawn times are the same whatever seed draws the other guesses.
    lifetime = options.lifetime_median_s * stream(0, "trace", "lifetime").lognormal(0.0, options.lifetime_sigma, count)
    arrival = np.cumsum(stream(0, "trace", "arrival").exponential(1.0, count))
    on_gpu = share > 0.0
    return Records(
        task_id=np.arange(count),
        arrival_s=arrival,
        cpu_s=np.where(on_gpu, np.nan, lifetime),
        gpu_s=np.where(on_gpu, lifetime * np.minimum(share, 1.0), np.nan),
        intensity=unknown(count),
        memory_mb=memory,
        mode=np.where(on_gpu, PARALLEL, SERIAL),
        parent_offsets=np.zeros(count + 1, dtype=np.int64),
        parent_ids=np.zeros(0, dtype=np.int64),
        notes=_notes(options),
        kind=tuple(f"{table.columns['num_gpu'][row].strip()} GPUs" for row in range(count)),
        target_load=0.7,
        gpus_required=np.maximum(share, 1.0).astype(np.int64),
        held_gpu=on_gpu,
    )


def _notes(options: TraceOptions) -> tuple[Assumption, ...]:
    lifetime = (
        f"the list has no times: lifetimes are drawn from a log-normal law (median {options.lifetime_median_s:g} s, "
        f"sigma {options.lifetime_sigma:g}) and pods arrive in the order of the list as a Poisson process."
    )
    memory = f"memory is {options.memory_fraction:g} of the host memory requested; GPU memory is not in the list."
    return (
        Assumption(name="guessed_lifetime", text=lifetime),
        Assumption(name="memory_from_request", text=memory),
    )
