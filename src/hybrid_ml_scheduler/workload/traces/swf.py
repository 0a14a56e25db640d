"""Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 = not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.workload.table import Table, make_table
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import ANY_MODE, Assumption, Records, unknown

__all__ = ["COLUMNS", "read", "swf_table"]

COLUMNS = (
    "job",
    "submit",
    "wait",
    "run",
    "processors",
    "cpu_per_processor",
    "memory_kb",
    "requested_processors",
    "requested_time",
    "requested_memory_kb",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
_KB_PER_MB = 1000.0


def swf_table(path: Path, text: str) -> Table:
    """Split the lines; those that begin with a semicolon are the header."""
    numbered = ((number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line[:1] != ";")
    rows = [(number, cells) for number, cells in numbered if cells]
    return make_table(path, COLUMNS, [cells for _, cells in rows], [number for number, _ in rows])


def read(table: Table, options: TraceOptions) -> Records:
    """A job is one task whose measured CPU time is its run time."""
    del options
    numbers = {name: table.numbers(name, least=-1.0) for name in COLUMNS[:10]}
    jobs = table.integers("job", least=0)
    table.unique("job", jobs.tolist())
    table.refuse_first(numbers["submit"] < 0.0, "submit", "a number of at least 0")
    processors = np.where(numbers["processors"] > 0, numbers["processors"], numbers["requested_processors"])
    usable = (numbers["run"] > 0.0) & (processors > 0.0)
    kept = np.flatnonzero(usable)
    if len(kept) == 0:
        raise WorkloadError(f"{table.path}: no job has a run time and processors.")
    memory, memory_notes = _memory(numbers, processors, kept)
    offsets, parents, parent_notes = _parents(table, jobs, usable)
    count = len(kept)
    return Records(
        task_id=jobs[kept],
        arrival_s=numbers["submit"][kept],
        cpu_s=numbers["run"][kept],
        gpu_s=unknown(count),
        intensity=unknown(count),
        memory_mb=memory,
        mode=np.full(count, ANY_MODE),
        parent_offsets=offsets,
        parent_ids=parents,
        notes=(*_notes(len(table), count), *memory_notes, *parent_notes),
        kind=_kinds(table, kept),
        requested_s=np.where(numbers["requested_time"] > 0.0, numbers["requested_time"], np.nan)[kept],
        target_load=0.7,
    )


def _kinds(table: Table, kept: IntColumn) -> tuple[str, ...]:
    """The executable that a job ran, where the log names it, else its user."""
    programs, users = table.integers("application", least=-1), table.integers("user", least=-1)
    pairs = zip(programs[kept].tolist(), users[kept].tolist(), strict=True)
    return tuple(
        f"application {program}" if program >= 0 else f"user {user}" if user >= 0 else "" for program, user in pairs
    )


def _memory(
    numbers: dict[str, FloatColumn], processors: FloatColumn, kept: IntColumn
) -> tuple[FloatColumn, list[Assumption]]:
    """Memory used (else requested) by all processors in MB; NaN where the log has neither."""
    used = np.where(numbers["memory_kb"] > 0, numbers["memory_kb"], numbers["requested_memory_kb"])
    memory = np.where(used > 0, used * processors / _KB_PER_MB, np.nan)[kept]
    if np.isnan(memory).all():
        return memory, []
    text = "memory is what the job used (else requested) on all its processors, as if all of it crossed the bus."
    return memory, [Assumption(name="memory_from_log", text=text)]


def _parents(table: Table, jobs: IntColumn, usable: np.ndarray) -> tuple[IntColumn, IntColumn, list[Assumption]]:
    """The preceding job, where the log names one, is a parent; of one that was left out, the job it waited for."""
    before = table.integers("preceding_job", least=-1).copy()
    known = set(jobs.tolist())
    named = before > 0
    for row in np.flatnonzero(named).tolist():
        if before[row] == jobs[row]:
            table.refuse(row, f"job {jobs[row]} depends on itself")
        if int(before[row]) not in known:
            table.refuse(row, f"job {jobs[row]} depends on job {before[row]}, which does not exist")
    row_of = {job: row for row, job in enumerate(jobs.tolist())}
    for row in np.flatnonzero(named).tolist():
        for _ in range(len(jobs)):  # a chain cannot be longer, unless it is a cycle, which is refused later
            if before[row] <= 0 or usable[row_of[int(before[row])]]:
                break
            before[row] = before[row_of[int(before[row])]]
    held = named & np.isin(before, jobs[usable]) & usable
    lengths = held[usable].astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    notes = []
    if named.any():
        lost = int((named & usable & ~held).sum())
        text = f"a job waits for its preceding job without think time ({lost} such jobs had none left to wait for)."
        notes.append(Assumption(name="preceding_job", text=text))
    return offsets, before[held], notes


def _notes(total: int, kept: int) -> tuple[Assumption, ...]:
    run = (
        "the CPU time of a job is its measured run time, as if the node's CPU were the processors it had; "
        "absolute speed is that of the logged machine."
    )
    left_out = f"{total - kept:,} of {total:,} jobs have no run time or no processors and are left out."
    return (Assumption(name="run_as_cpu_time", text=run), Assumption(name="left_out", text=left_out))
