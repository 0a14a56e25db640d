"""Columns of a foreign CSV under the names of a task: `--map duration=run_s`, with hints for other names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.text import amount, nearest_hint
from hybrid_ml_scheduler.workload.csv_file import LABEL, OPTIONAL_COLUMNS, REQUIRED_COLUMNS, TYPED_TIME
from hybrid_ml_scheduler.workload.foreign_cells import (
    EMPTY_WORDS,
    epoch_unit,
    moments,
    plain_cells,
    plain_number,
    scale_by_name,
    unit_of_name,
)
from hybrid_ml_scheduler.workload.table import Table, Written

__all__ = ["DURATION", "map_columns", "suggested_map"]

DURATION = "duration"
_KNOWN = (DURATION, *REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
_MAY_BE_CUT = "divisible: a task that needs one GPU may be cut between CPU and GPU (option divisible=0: none may)."
# What such a column is called elsewhere, without spaces, dashes and underscores.
_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "arrival_time": (
        "arrival",
        "arrived",
        "submit",
        "submitted",
        "submittime",
        "submittedat",
        "created",
        "createdat",
        "submitepoch",
        "submissiontime",
        "queued",
        "queuedat",
    ),
    DURATION: (
        "runtime",
        "run",
        "runs",
        "elapsed",
        "seconds",
        "walltime",
        "durations",
        "time",
        "runseconds",
        "runminutes",
        "runhours",
        "runms",
        "durationms",
        "runtimems",
        "jobtime",
    ),
    "gpus_required": ("gpus", "gpu", "numgpus", "numgpu", "ngpus", "gpucount", "gpunum", "width", "gangsize"),
    "memory_required": ("memory", "mem", "memorymb", "memmb", "memorygb", "memgb", "reqmem", "gpumemory"),
    "task_id": ("id", "job", "jobid", "jobname", "task", "uuid"),
    "kind": ("type", "jobtype", "model", "class", "name", "application", "app"),
    "requested_time": ("timelimit", "limit", "requested", "estimate", "requestedwalltime"),
    "runs_on": ("runson", "device", "target"),
    "precision": ("dtype",),
    "dependencies": ("parents", "dependson", "after", "requires"),
    "compute_intensity": ("intensity",),
}
_STARTS = ("start", "started", "starttime", "begin", "began")
_ENDS = ("end", "ended", "endtime", "finish", "finished", "finishtime")


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _meant(name: str) -> str | None:
    """The column of a task that is called so elsewhere."""
    bare = _bare(name)
    return next((ours for ours, others in _ELSEWHERE.items() if bare == _bare(ours) or bare in others), None)


def suggested_map(header: Iterable[str]) -> str:
    """The flags that would map a header as far as its names tell."""
    found: dict[str, str] = {}
    names = list(header)
    for name in names:
        ours = _meant(name)
        if ours is not None and name and ours not in found:
            found[ours] = name
    start, end = (next((name for name in names if _bare(name) in words), None) for words in (_STARTS, _ENDS))
    if start and end and DURATION not in found:
        found = {**found, DURATION: f"{end}-{start}"}
        found.setdefault("arrival_time", start)
    if DURATION not in found:
        found = {DURATION: "COLUMN" if found else "run_s", **found}
    pairs = [f"{ours}={theirs}" for ours, theirs in found.items() if ours != theirs or ours == DURATION]
    return " ".join(f"--map {shlex.quote(pair)}" for pair in pairs)


def map_columns(table: Table, names: Mapping[str, str]) -> tuple[Table, list[str]]:
    """The table with columns under the product's names and numbers in plain form, and what is assumed of them."""
    doubled = [theirs for theirs in names.values() if list(names.values()).count(theirs) > 1]
    if doubled:
        raise PlanError(f"--map names the file's column {doubled[0]!r} for two columns of a task.")
    columns, notes, written = dict(table.columns), [], {}
    for ours, theirs in names.items():
        _check_name(ours, theirs)
        cells, counted = _cells(table, columns, ours, theirs)
        if ours != theirs:
            written[ours] = Written(theirs, cells, table.lines)
        cells, said = scale_by_name(ours, theirs, cells, table.decimal_comma)
        if ours in columns and ours != theirs:
            raise WorkloadError(f"{table.path}: --map {ours}={theirs}, but the file has a column {ours!r} too.")
        columns.pop(theirs, None)
        columns[ours] = cells
        notes += [f"mapped_column: {ours} is the file's column {theirs!r}.", *counted, *said]
    table = replace(table, written=written)
    found, ignored = _known_alone(table, columns) if names else (table, [])
    found, left_out = _without_open_jobs(found, names)
    found, read = plain_cells(found, tuple(names))
    found, taken = _durations(found) if DURATION in names else (found, [])
    found, numbered = _numbered(found) if "task_id" in names else (found, [])
    whole = [] if not names or "divisible" in found.columns else [_MAY_BE_CUT]
    return found, [*notes, *ignored, *left_out, *read, *taken, *numbered, *whole]


def _check_name(ours: str, theirs: str) -> None:
    if ours in _KNOWN or ours.startswith(TYPED_TIME):
        return
    meant = _meant(ours)
    hint = nearest_hint(ours, _KNOWN) if meant is None else f"; did you mean {meant!r}?"
    raise PlanError(f"--map {ours}={theirs}: a task has no column {ours!r}{hint}")


def _known_alone(table: Table, columns: Mapping[str, list[str]]) -> tuple[Table, list[str]]:
    """The columns that a task has; who maps some has said that the others are none of them."""
    others = [name for name in columns if name not in _KNOWN and not name.startswith(TYPED_TIME)]
    kept = {name: cells for name, cells in columns.items() if name not in others}
    return replace(table, columns=kept), [f"ignored_columns: {', '.join(others)} (not mapped)."] if others else []


def _cells(table: Table, columns: Mapping[str, list[str]], ours: str, theirs: str) -> tuple[list[str], list[str]]:
    """The cells of a column, or the seconds between two (`ended-started`), and what is assumed of those."""
    if theirs in columns:
        return columns[theirs], []
    for place in (place for place, letter in enumerate(theirs) if letter == "-"):
        end, start = theirs[:place].strip(), theirs[place + 1 :].strip()
        if end in columns and start in columns:
            cells, unit = _between(table, (end, columns[end]), (start, columns[start]), unit_of_name(ours, theirs)[1])
            note = f"epoch: {ours} is read from {unit} since 1970, as {end!r} and {start!r} are."
            return cells, [note] if unit else []
    raise WorkloadError(f"{table.path}: the column {theirs!r} is missing{nearest_hint(theirs, columns)}")


def _between(
    table: Table, end: tuple[str, list[str]], start: tuple[str, list[str]], named_unit: str
) -> tuple[list[str], str]:
    """Seconds between two columns of date-times or of numbers, empty where either is; and their unit since 1970.

    The unit is told, and counts, where it is not seconds and no unit stands in the name.
    """
    pairs = list(zip(end[1], start[1], strict=True))
    rows = [row for row, pair in enumerate(pairs) if not any(one.strip().lower() in EMPTY_WORDS for one in pair)]
    part = replace(table, lines=[table.lines[row] for row in rows])
    both = [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
    told = ""
    try:
        numbers = [[float(plain_number(cell, table.decimal_comma)) for cell in cells] for cells in both]
        factor, unit = epoch_unit([*numbers[0], *numbers[1]])
        if unit:
            _refuse_half(part, f"{end[0]} - {start[0]}", both, numbers)
        if named_unit or factor == 1.0:
            factor, unit = 1.0, ""
        told = unit
        seconds = [(one - other) * factor for one, other in zip(*numbers, strict=True)]
    except ValueError:
        joined = replace(part, lines=[*part.lines, *part.lines])
        since, _ = moments(joined, f"{end[0]} or {start[0]}", [*both[0], *both[1]])
        seconds = [one - other for one, other in zip(since[: len(rows)], since[len(rows) :], strict=True)]
    cells = [""] * len(table)
    for row, value in zip(rows, seconds, strict=True):
        cells[row] = repr(value)
    return cells, told


def _refuse_half(
    table: Table, name: str, cells: tuple[list[str], list[str]], numbers: Sequence[Sequence[float]]
) -> None:
    """Refuse a row with one time since 1970 and a 0, as of a job that never began: nothing was worked between them."""
    for row, (end, start) in enumerate(zip(*numbers, strict=True)):
        if (end > 0.0) != (start > 0.0):
            reason = "where times are counted since 1970; leave the cell of a job that never ran empty"
            table.refuse(row, f"{name} is {cells[0][row]} - {cells[1][row]}, {reason}")


def _without_open_jobs(table: Table, names: Mapping[str, str]) -> tuple[Table, list[str]]:
    """Leave out rows whose mapped duration is empty, as of a job that has not ended: nothing is known of them."""
    if DURATION not in names:
        return table, []
    kept = [row for row, cell in enumerate(table.columns[DURATION]) if cell.strip().lower() not in EMPTY_WORDS]
    missing = len(table) - len(kept)
    if not missing:
        return table, []
    if not kept:
        raise WorkloadError(f"{table.path}: no row has a duration.")
    shown = ", ".join(str(line) for line in sorted(set(table.lines) - {table.lines[row] for row in kept})[:5])
    note = (
        f"no_duration: {missing:,} of {amount(len(table), 'row')} without a duration left out "
        f"(line {shown}{', ...' if missing > 5 else ''})."
    )
    return table.rows(kept), [note]


def _durations(table: Table) -> tuple[Table, list[str]]:
    """A duration was spent on the CPU or, where a task says how many GPUs it holds, on those."""
    columns = dict(table.columns)
    seconds = columns.pop(DURATION)
    gpus = columns.get("gpus_required", ["0"] * len(table))
    on_gpu = [cell.strip() not in ("", "0") for cell in gpus]
    wanted = {
        "cpu_time": [not one for one in on_gpu],
        "gpu_time": on_gpu,
    }
    for name, rows in wanted.items():
        if any(rows) and name in columns:
            raise WorkloadError(f"{table.path}: a duration is mapped, but the file has a column {name!r} too.")
        if any(rows):
            columns[name] = [cell if used else "" for cell, used in zip(seconds, rows, strict=True)]
    if not any(on_gpu):
        notes = ["duration_as_cpu_time: a duration is taken as seconds on the node's CPU."]
    else:
        columns["gpus_required"] = [cell.strip() or "0" for cell in gpus]
        here, there = amount(sum(on_gpu), "task"), amount(len(on_gpu) - sum(on_gpu), "task")
        notes = [
            "duration_as_gpu_time: a duration is taken as seconds on the GPUs that a task holds "
            f"({here}), else as seconds on the CPU ({there})."
        ]
    written = {name: table.written[DURATION] for name in wanted if DURATION in table.written}
    return replace(table, columns=columns, written={**table.written, **written}), notes


def _numbered(table: Table) -> tuple[Table, list[str]]:
    """Task ids that are words become numbers in the order of the file, and so do their dependencies."""
    ids = [cell.strip() for cell in table.columns["task_id"]]
    if all(cell.isascii() and cell.isdigit() for cell in ids):
        return table, []
    table.unique("task_id", ids)
    numbers = {name: row for row, name in enumerate(ids)}
    columns = {**table.columns, "task_id": [str(row) for row in range(len(ids))], LABEL: ids}
    if "dependencies" in columns:
        columns["dependencies"] = [
            _parents(table, row, cell, numbers) for row, cell in enumerate(columns["dependencies"])
        ]
    return replace(table, columns=columns), [
        "numbered: tasks are numbered in the order of the file, from 0; their ids in the file are kept beside."
    ]


def _parents(table: Table, row: int, cell: str, numbers: Mapping[str, int]) -> str:
    """Names of parents, parted by blanks, semicolons, commas or bars, as the list of numbers that the reader takes."""
    words = cell.replace("[", " ").replace("]", " ")
    for mark in ",;|'\"":
        words = words.replace(mark, " ")
    unknown = [word for word in words.split() if word not in numbers]
    if unknown:
        name = table.name_of("dependencies")
        table.refuse(row, f"{name} is {cell[:60]!r}, and no task is called {unknown[0]!r}")
    return f"[{', '.join(str(numbers[word]) for word in words.split())}]"
