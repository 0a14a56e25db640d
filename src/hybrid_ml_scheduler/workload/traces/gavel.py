"""Gavel's job streams: steps and GPUs of every job, and beside them a table of steps per second by type of GPU.

The table is `simulation_throughputs.json` (or `.json.gz`) in the folder of the stream, or the file that the trace
option `throughputs` names. A type whose name ends in `_unconsolidated` is the same type spread over servers, which a
node is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.workload.files import read_text
from hybrid_ml_scheduler.workload.table import Table, make_table
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import PARALLEL, Assumption, Records, unknown

__all__ = ["CELLS", "TABLE", "Throughputs", "is_stream", "is_table", "read", "table_beside", "throughputs"]

HEADER = ("job_type", "command", "steps_argument", "needs_data", "total_steps", "arrival_time", "scale_factor")
CELLS = len(HEADER)
TABLE = "simulation_throughputs.json"
_SPREAD = "_unconsolidated"
_MOST_NAMED = 3

# Steps per second by type of GPU, then by job type and number of GPUs.
Throughputs = dict[str, dict[tuple[str, int], float]]


def is_stream(first: str) -> bool:
    """Whether the first line of a file is a job of such a stream."""
    return first.count("\t") == CELLS - 1


def is_table(begin: str) -> bool:
    """Whether a JSON text is the table of throughputs rather than tasks."""
    return "('" in begin[:400] and '"null"' in begin[:400]


def read(path: Path, text: str, options: TraceOptions) -> Records:
    """A job is a gang of GPUs whose seconds on every type are its steps over the measured steps per second."""
    table = _table(path, text)
    place = _table_place(path, options)
    known = throughputs(place)
    kinds = tuple(name.strip() for name in table.columns["job_type"])
    steps = table.numbers("total_steps", least=0.0)
    gpus = table.integers("scale_factor", least=1)
    types = tuple(known)
    rates = np.array(
        [
            [known[name].get((kind, int(count)), np.nan) for name in types]
            for kind, count in zip(kinds, gpus, strict=True)
        ]
    )
    rates[rates <= 0.0] = np.nan
    kept = np.flatnonzero(~np.isnan(rates).all(axis=1))
    if len(kept) == 0:
        raise WorkloadError(f"{path}: {place.name} has no throughput of any of its jobs.")
    return Records(
        task_id=np.arange(len(table))[kept],
        arrival_s=table.numbers("arrival_time", least=0.0)[kept],
        cpu_s=unknown(len(kept)),
        gpu_s=unknown(len(kept)),
        gpu_times=(steps[:, None] / rates)[kept],
        gpu_types=types,
        gpus_required=gpus[kept],
        intensity=unknown(len(kept)),
        memory_mb=unknown(len(kept)),
        mode=np.full(len(kept), PARALLEL),
        parent_offsets=np.zeros(len(kept) + 1, dtype=np.int64),
        parent_ids=np.zeros(0, dtype=np.int64),
        notes=_notes(
            place, types, [kind for row, kind in enumerate(kinds) if row not in set(kept.tolist())], len(table)
        ),
        kind=tuple(kinds[row] for row in kept.tolist()),
        target_load=0.7,
        held_gpu=np.ones(len(kept), dtype=np.bool_),
        fp32=True,
    )


def _table(path: Path, text: str) -> Table:
    rows = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return make_table(path, HEADER, [line.split("\t") for _, line in rows], [number for number, _ in rows])


def _table_place(path: Path, options: TraceOptions) -> Path:
    """The table of throughputs: as asked for, else beside the stream."""
    if options.throughputs is not None:
        return Path(options.throughputs)
    place = table_beside(path)
    if place is not None:
        return place
    raise WorkloadError(
        f"{path}: a Gavel stream needs {TABLE} beside it, or the trace option throughputs=FILE: jobs are in steps, "
        "and the table says how many each type of GPU does in a second."
    )


def table_beside(path: Path) -> Path | None:
    """The table of throughputs in the folder of a stream; None where there is none."""
    beside = (path.with_name(TABLE), path.with_name(f"{TABLE}.gz"))
    return next((place for place in beside if place.exists()), None)


def throughputs(path: Path) -> Throughputs:
    """Read the table; every refusal names the file."""
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{path}: this is not valid JSON ({error}).") from None
    if not isinstance(found, Mapping) or not all(isinstance(jobs, Mapping) for jobs in found.values()):
        raise WorkloadError(f"{path}: a table of throughputs has jobs by type of GPU.")
    known = {name: _of_type(path, name, jobs) for name, jobs in found.items() if not name.endswith(_SPREAD)}
    if not any(known.values()):
        raise WorkloadError(f"{path}: this table of throughputs is empty: it names no job on any type of GPU.")
    return known


def _of_type(path: Path, name: str, jobs: Mapping[str, Any]) -> dict[tuple[str, int], float]:
    rates: dict[tuple[str, int], float] = {}
    for key, measured in jobs.items():
        kind, _, count = key.strip("()").rpartition(",")
        alone = measured.get("null") if isinstance(measured, Mapping) else None
        if not count.strip().isdigit() or isinstance(alone, bool) or not isinstance(alone, (int, float)):
            raise WorkloadError(f"{path}: {name} has no throughput of {key!r} alone.")
        rates[kind.strip().strip("'\""), int(count)] = float(alone)
    return rates


def _notes(place: Path, types: tuple[str, ...], lost: list[str], count: int) -> tuple[Assumption, ...]:
    measured = (
        f"seconds of a job on {', '.join(types)} are measured: its steps over the steps per second of the job type "
        f"with its number of GPUs, alone on them ({place.name})."
    )
    plain = "jobs compute in FP32 without tensor cores: the measured ratios between V100 and P100 are those of FP32."
    notes = [Assumption(name="throughputs", text=measured), Assumption(name="fp32", text=plain)]
    if lost:
        names = ", ".join(dict.fromkeys(lost[:_MOST_NAMED])) + (", ..." if len(lost) > _MOST_NAMED else "")
        text = f"{len(lost):,} of {count:,} jobs have no measured throughput on any type and are left out ({names})."
        notes.append(Assumption(name="no_throughput", text=text))
    return tuple(notes)
