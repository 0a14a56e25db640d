"""A CSV of one's own before it is read: tasks of zero seconds left out, gaps filled aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.csv_file import TYPED_TIME, has_times, listed_ids
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces.filling import size_for_times
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.without_zeros import parents_inherited, zero_seconds_note

__all__ = ["complete_table"]

_FILLED = ("size", "compute_intensity", "memory_required")


def complete_table(table: Table, seed: int, options: TraceOptions) -> tuple[Table, list[str]]:
    """The table without tasks of zero seconds and with the columns that measured times make optional."""
    notes: list[str] = []
    if not has_times(list(table.columns)):
        return table, notes  # sizes are needed, and a missing column is refused by its name
    if "task_id" not in table.columns:
        table = _with(table, "task_id", [str(row) for row in range(len(table))])
        notes.append("numbered: tasks are numbered in the order of the file.")
    table, left_out = _without_zeros(table)
    notes += left_out
    if "arrival_time" not in table.columns:
        table = _with(table, "arrival_time", ["0"] * len(table))
        notes.append("released_at_once: the file has no arrival times, so all tasks arrive at 0.")
    return _with_guesses(table, seed, options, notes)


def _with(table: Table, name: str, cells: list[str]) -> Table:
    return replace(table, columns={**table.columns, name: cells})


def _with_guesses(table: Table, seed: int, options: TraceOptions, notes: list[str]) -> tuple[Table, list[str]]:
    count = len(table)
    cpu_s, gpu_s = _seconds(table, ["cpu_time"]), _seconds(table, _gpu_columns(table))
    if any(name not in table.columns for name in _FILLED) and (np.isnan(cpu_s) & np.isnan(gpu_s)).any():
        row = int(np.flatnonzero(np.isnan(cpu_s) & np.isnan(gpu_s))[0])
        table.refuse(row, "a task without any measured time needs size, compute_intensity and memory_required")
    if "compute_intensity" not in table.columns:
        first = stream(seed, "trace", "intensity_mode").random(count) < draws.FIRST_MODE_SHARE
        (low, low_spread), (high, high_spread) = draws.MODES
        normal = stream(seed, "trace", "intensity").standard_normal(count)
        drawn = np.where(first, low + low_spread * normal, high + high_spread * normal)
        table = _with(table, "compute_intensity", [repr(value) for value in np.clip(drawn, 0.0, 1.0).tolist()])
        notes.append("guessed_intensity: the compute intensity of all tasks is drawn from the bimodal law.")
    if "memory_required" not in table.columns:
        low_mb, high_mb = options.memory_low_mb, options.memory_high_mb
        guess = stream(seed, "trace", "memory").uniform(low_mb, high_mb, count)
        table = _with(table, "memory_required", [repr(value) for value in guess.tolist()])
        notes.append(f"guessed_memory: the memory of all tasks is drawn from [{low_mb:g}, {high_mb:g}] MB.")
    if "size" not in table.columns:
        intensity = table.numbers("compute_intensity", least=0.0, most=1.0)
        size = size_for_times(cpu_s, gpu_s, np.ones(count), intensity)
        table = _with(table, "size", [repr(value) for value in size.tolist()])
        notes.append("derived_size: size is what makes the default physics give the CPU time.")
    return table, notes


def _gpu_columns(table: Table) -> list[str]:
    return [name for name in table.columns if name == "gpu_time" or name.startswith(TYPED_TIME)]


def _seconds(table: Table, names: Sequence[str]) -> FloatColumn:
    """The first time that each row has among these columns; NaN where it has none."""
    found = np.full(len(table), np.nan)
    for name in names:
        if name in table.columns:
            column = table.numbers(name, least=0.0, missing=np.nan)
            found = np.where(np.isnan(found), column, found)
    return found


def _without_zeros(table: Table) -> tuple[Table, list[str]]:
    """Leave out rows all of whose times are zero; a row of which only one is zero contradicts itself."""
    names = ["cpu_time", *_gpu_columns(table)]
    columns = [table.numbers(name, least=0.0, missing=np.nan) for name in names if name in table.columns]
    times = np.column_stack(columns)
    zero = (times == 0.0).any(axis=1)
    if not zero.any():
        return table, []
    mixed = np.flatnonzero(zero & (times > 0.0).any(axis=1))
    if len(mixed):
        table.refuse(int(mixed[0]), "one of its times is 0 and another is not, which cannot both be measured")
    ids = table.columns["task_id"]
    dropped = {ids[row] for row in np.flatnonzero(zero).tolist()}
    kept = np.flatnonzero(~zero).tolist()
    if not kept:
        raise WorkloadError(f"{table.path}: every task in it takes 0 seconds.")
    cells = dict(table.columns)
    if "dependencies" in cells:
        cells["dependencies"] = _inherited(table, dropped)
    left_out: list[str] = sorted(dropped, key=_by_number)
    note = zero_seconds_note(len(left_out), len(table), left_out)
    return replace(table, columns=cells).rows(kept), [note]


def _by_number(name: str) -> tuple[int, str]:
    return len(name), name


def _inherited(table: Table, dropped: set[str]) -> list[str]:
    """The cells of dependencies, in which a task that is left out is replaced by what it waited for."""
    cells = table.columns["dependencies"]
    lists = [listed_ids(cell or "[]") for cell in cells]
    if None in lists:
        return cells  # the reader refuses it with its line
    named = [[str(one) for one in ids or ()] for ids in lists]
    parents = dict(zip(table.columns["task_id"], named, strict=True))
    changed = parents_inherited(parents, dropped)
    return [
        cell if changed[name] == parents[name] else f"[{', '.join(changed[name])}]"
        for name, cell in zip(table.columns["task_id"], cells, strict=True)
    ]
