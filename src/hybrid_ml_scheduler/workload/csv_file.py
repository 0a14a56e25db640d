"""The product's own CSV: written and read back to the identical workload."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import ANY, CPU, GPU, RUNS_ON, IntColumn, TaskBatch, runs_on_word
from hybrid_ml_scheduler.core.text import nearest, nearest_hint
from hybrid_ml_scheduler.core.validation import validate_batch
from hybrid_ml_scheduler.workload.columns import batch_of, flat_parents, in_order
from hybrid_ml_scheduler.workload.files import open_for_writing, read_text
from hybrid_ml_scheduler.workload.json_rows import table_of
from hybrid_ml_scheduler.workload.table import Table

__all__ = [
    "LABEL",
    "OPTIONAL_COLUMNS",
    "REQUIRED_COLUMNS",
    "batch_from_table",
    "has_times",
    "listed_ids",
    "read_csv",
    "write_csv",
]

REQUIRED_COLUMNS = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time")
LABEL = "task_label"
OPTIONAL_COLUMNS = (
    "dependencies",
    "cpu_time",
    "gpu_time",
    "duration_factor",
    "kind",
    "requested_time",
    "deadline",
    "divisible",
    "gpus_required",
    "speedup_factor",
    "runs_on",
    "precision",
    "assumptions",
    LABEL,
)
TYPED_TIME = "gpu_time."
_YES, _NO = "yes", "no"
_PRECISIONS = {"": False, "tensor": False, "fp32": True}
_WORDS = {_YES: True, "true": True, "1": True, _NO: False, "false": False, "0": False}
_TYPE = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)
_IDS = re.compile(r"\s*\d{1,19}(\s*[;,|\s]\s*\d{1,19})*\s*", re.ASCII)
_BLOCK = 65_536
_LONGEST_LABEL = 200


def has_times(names: Sequence[str]) -> bool:
    """Whether a header holds measured seconds."""
    return any(name in ("cpu_time", "gpu_time") or name.startswith(TYPED_TIME) for name in names)


def write_csv(batch: TaskBatch, path: str | Path) -> None:
    """Write the workload, whole or not at all; columns that say nothing are left out."""
    extra = _telling(batch)
    with open_for_writing(Path(path)) as text:
        writer = csv.writer(text, lineterminator="\n")
        noted = [*(["assumptions"] if batch.assumptions else []), *([LABEL] if batch.labels else [])]
        writer.writerow([*REQUIRED_COLUMNS, "dependencies", *extra, *noted])
        for start in range(0, len(batch), _BLOCK):
            writer.writerows(_rows(batch.take(slice(start, start + _BLOCK)), extra, first=start == 0))


def _telling(batch: TaskBatch) -> list[str]:
    """The optional columns in which any task differs from the default."""
    measured = [name for name in ("cpu_time", "gpu_time") if not np.isnan(getattr(batch, name)).all()]
    typed = [TYPED_TIME + name for name in batch.gpu_types]
    said = {
        "duration_factor": batch.is_noisy,
        "kind": any(batch.kind_names[code] for code in np.unique(batch.kind)),
        "requested_time": not np.isnan(batch.requested_time).all(),
        "deadline": not np.isnan(batch.deadline).all(),
        "divisible": not batch.divisible.all(),
        "gpus_required": bool((batch.gpus_required != 1).any()),
        "speedup_factor": bool((batch.speedup_factor != 1.0).any()),
        "runs_on": bool(batch.gpu_only.any()),
        "precision": bool(batch.fp32.any()),
    }
    return [*measured, *typed, *(name for name, tells in said.items() if tells)]


def _cells(batch: TaskBatch, name: str) -> Sequence[object]:
    """One optional column as it is written."""
    if name == "kind":
        return [batch.kind_names[code] for code in batch.kind.tolist()]
    if name == "divisible":
        return [_YES if whole else _NO for whole in batch.divisible.tolist()]
    if name == "runs_on":
        return list(map(runs_on_word, batch.gpu_only.tolist(), batch.gpus_required.tolist()))
    if name == "precision":
        return ["fp32" if plain else "" for plain in batch.fp32.tolist()]
    if name.startswith(TYPED_TIME):
        column = batch.gpu_times[:, batch.gpu_types.index(name.removeprefix(TYPED_TIME))]
    else:
        column = getattr(batch, name)
    return ["" if math.isnan(value) else value for value in column.tolist()]


def _rows(batch: TaskBatch, extra: Sequence[str], *, first: bool) -> Iterator[tuple[object, ...]]:
    """Yield the cells of each row; Python's repr of a float reads back to the same bits."""
    columns = [getattr(batch, name).tolist() for name in REQUIRED_COLUMNS]
    columns.append([json.dumps(batch.parents(row)) if count else "[]" for row, count in _parent_counts(batch)])
    columns.extend(_cells(batch, name) for name in extra)
    if batch.assumptions:
        # One cell of the first row holds them all, so that the file stays a plain rectangular table.
        note = json.dumps(batch.assumptions, ensure_ascii=False) if first else ""
        columns.append([note, *[""] * (len(batch) - 1)])
    if batch.labels:
        columns.append(list(batch.labels))
    return zip(*columns, strict=True)


def _parent_counts(batch: TaskBatch) -> Iterator[tuple[int, int]]:
    return enumerate(np.diff(batch.parent_offsets).tolist())


def read_csv(path: str | Path) -> TaskBatch:
    """Read a workload that `write_csv` or a person wrote; the first bad row is refused with its line."""
    where = Path(path)
    return batch_from_table(table_of(where, read_text(where)))


def batch_from_table(table: Table) -> TaskBatch:
    """Turn a table with the product's own columns into a batch."""
    ignored = _unknown_columns(table)
    ids = table.integers("task_id")
    table.unique("task_id", ids.tolist())
    types = [name.removeprefix(TYPED_TIME) for name in table.columns if name.startswith(TYPED_TIME)]
    kinds, kind_names = _kinds(table)
    gpu_only, gangs = _devices(table)
    _refuse_contradictions(table, gangs)
    offsets, parents = flat_parents(_dependencies(table, set(ids.tolist()), ids.tolist()))
    batch = batch_of(
        task_id=ids,
        size=table.numbers("size", above=0.0),
        compute_intensity=table.numbers("compute_intensity", least=0.0, most=1.0),
        memory_required=table.numbers("memory_required", least=0.0),
        arrival_time=table.numbers("arrival_time", least=0.0),
        cpu_time=_optional(table, "cpu_time", math.nan),
        gpu_time=_optional(table, "gpu_time", math.nan),
        duration_factor=_optional(table, "duration_factor", 1.0),
        kind=kinds,
        kind_names=kind_names,
        requested_time=_optional(table, "requested_time", math.nan),
        deadline=_optional(table, "deadline", math.nan),
        divisible=_divisible(table, gangs, gpu_only),
        gpus_required=gangs,
        gpu_times=_typed_times(table, types),
        gpu_types=types,
        speedup_factor=_optional(table, "speedup_factor", 1.0),
        gpu_only=gpu_only,
        fp32=_precision(table),
        assumptions=[*_assumptions(table), *ignored],
        labels=_labels(table),
        parent_offsets=offsets,
        parent_ids=parents,
    )
    return validate_batch(in_order(batch), str(table.path))


def _optional(table: Table, name: str, missing: float) -> np.ndarray | None:
    return table.numbers(name, above=0.0, missing=missing) if name in table.columns else None


def _labels(table: Table) -> list[str]:
    """What the user calls the tasks; each name once, so that it finds its task."""
    labels = [cell.strip() for cell in table.columns.get(LABEL, ())]
    table.unique(LABEL, labels)
    for row, label in enumerate(labels):
        if not label.isprintable() or not 0 < len(label) <= _LONGEST_LABEL:
            table.refuse(row, f"{LABEL} is not one line of 1 to {_LONGEST_LABEL} printable characters")
    return labels


def _kinds(table: Table) -> tuple[list[int] | None, tuple[str, ...]]:
    """Codes of the kinds in order of appearance, and their names; the empty kind is always code 0."""
    if "kind" not in table.columns:
        return None, ("",)
    cells = table.columns["kind"]
    names = tuple(dict.fromkeys(["", *cells]))
    codes = {name: code for code, name in enumerate(names)}
    return [codes[cell] for cell in cells], names


def _devices(table: Table) -> tuple[list[bool] | None, IntColumn | None]:
    """Which tasks run on GPUs only, and how many GPUs each needs: none where `runs_on` says that it is for the CPU."""
    gangs = table.integers("gpus_required", missing=1) if "gpus_required" in table.columns else None
    if "runs_on" not in table.columns:
        return None, gangs
    words = [cell.strip().lower() or ANY for cell in table.columns["runs_on"]]
    needed = np.ones(len(table), dtype=np.int64) if gangs is None else gangs.copy()
    given = table.columns.get("gpus_required", [""] * len(table))
    for row, word in enumerate(words):
        if word not in RUNS_ON:
            table.refuse(row, f"runs_on is {table.columns['runs_on'][row]!r}, which is none of gpu, cpu and any")
        if given[row] and ((word == GPU and needed[row] == 0) or (word == CPU and needed[row] > 0)):
            table.refuse(row, f"runs_on is {word} and gpus_required is {needed[row]}, which contradict")
        if word == CPU:
            needed[row] = 0
    has_none = gangs is None and not (needed == 0).any()
    return [word == GPU for word in words], None if has_none else needed


def _precision(table: Table) -> list[bool] | None:
    """Which tasks compute in FP32 without tensor cores."""
    if "precision" not in table.columns:
        return None
    words = [cell.strip().lower() for cell in table.columns["precision"]]
    for row, word in enumerate(words):
        if word not in _PRECISIONS:
            table.refuse(row, f"precision is {table.columns['precision'][row]!r}, which is neither fp32 nor tensor")
    return [_PRECISIONS[word] for word in words]


def _divisible(table: Table, gangs: IntColumn | None, gpu_only: Sequence[bool] | None) -> list[bool] | None:
    """Whether each task may be cut; left empty, one that needs several GPUs at once or only GPUs may not."""
    default = [True] * len(table) if gangs is None else (gangs == 1).tolist()
    if gpu_only is not None:
        default = [one and not only for one, only in zip(default, gpu_only, strict=True)]
    if "divisible" not in table.columns:
        return None if all(default) else default
    return [_yes(table, row, cell, default[row]) for row, cell in enumerate(table.columns["divisible"])]


def _yes(table: Table, row: int, cell: str, default: bool) -> bool:
    word = cell.strip().lower()
    if word and word not in _WORDS:
        table.refuse(row, f"{table.cell_words('divisible', row)}, which is neither yes nor no")
    return _WORDS[word] if word else default


def _typed_times(table: Table, types: Sequence[str]) -> np.ndarray | None:
    """One column of seconds for each type of GPU that the header names."""
    for name in types:
        if not _TYPE.fullmatch(name):
            raise WorkloadError(
                f"{table.path}: the column '{TYPED_TIME}{name}' names no GPU type; "
                "one is written in small letters, digits, '-' and '_', such as gpu_time.v100."
            )
    columns = [table.numbers(TYPED_TIME + name, above=0.0, missing=math.nan) for name in types]
    return np.column_stack(columns) if columns else None


def _refuse_contradictions(table: Table, gangs: IntColumn | None) -> None:
    """A task that needs no GPU has no time on one."""
    if gangs is None:
        return
    timed = [name for name in table.columns if name == "gpu_time" or name.startswith(TYPED_TIME)]
    for row in np.flatnonzero(gangs == 0).tolist():
        for name in timed:
            if table.columns[name][row]:
                table.refuse(
                    row, f"{table.name_of('gpus_required')} is 0 and {table.cell_words(name, row)}, which contradict"
                )


def _unknown_columns(table: Table) -> list[str]:
    """Refuse missing and misspelt columns; state those that are passed over."""
    known = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
    others = [name for name in table.columns if name not in known and not name.startswith(TYPED_TIME)]
    for name in others:
        if nearest(name, known) is not None:
            raise WorkloadError(f"{table.path}: the column '{name}' is not known{nearest_hint(name, known)}")
    for name in REQUIRED_COLUMNS:
        if name not in table.columns:
            raise WorkloadError(f"{table.path}: the column '{name}' is missing.")
    return [f"ignored_columns: {', '.join(others)} say nothing that a task has."] if others else []


def _assumptions(table: Table) -> list[str]:
    cell = table.columns["assumptions"][0] if "assumptions" in table.columns else ""
    if not cell:
        return []
    try:
        notes = json.loads(cell)
    except (ValueError, RecursionError):
        notes = None
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        table.refuse(0, "assumptions is not a JSON array of sentences")
    return notes


def _dependencies(table: Table, known: set[int], ids: Sequence[int]) -> list[list[int]]:
    if "dependencies" not in table.columns:
        return [[]] * len(table)
    cells = table.columns["dependencies"]
    return [[] if cell in ("[]", "") else _parents(table, row, cell, known, ids[row]) for row, cell in enumerate(cells)]


def listed_ids(cell: str) -> list[int] | None:
    """Task ids as a JSON array or parted by semicolons, commas, bars or blanks; None for whatever is neither."""
    if _IDS.fullmatch(cell):
        return [int(word) for word in re.findall(r"\d+", cell)]
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(type(one) is int for one in found) else None


def _parents(table: Table, row: int, cell: str, known: set[int], own: int) -> list[int]:
    """Read one cell of parents, and check every id in it."""
    parents = listed_ids(cell)
    if parents is None:
        name = table.name_of("dependencies")
        table.refuse(row, f"{name} is {cell[:60]!r}, which is not a list of task ids such as [0, 3] or 0;3")
    if len(set(parents)) < len(parents):
        table.refuse(row, f"task {own} names a parent twice in {cell[:60]}")
    for parent in parents:
        if parent == own:
            table.refuse(row, f"task {own} depends on itself")
        if parent not in known:
            table.refuse(row, f"task {own} depends on task {parent}, which does not exist")
    return parents
