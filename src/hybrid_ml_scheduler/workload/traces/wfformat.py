"""WfFormat 1.5 (WfCommons): a workflow that ran, as a graph of tasks with run times and files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.workload.columns import flat_parents
from hybrid_ml_scheduler.workload.graph import levels
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import ANY_MODE, Assumption, Records, unknown

__all__ = ["read"]

_BYTES_PER_MB = 1e6
LONGEST_KIND = 100
_NUMBERING = re.compile(r"[\s_\-.(]*(ID)?[\d()]*$")
_ABSURD = 1e300
_Graph = Sequence[Sequence[int]]


def read(path: Path, text: str, options: TraceOptions) -> Records:
    """Every task of the workflow is a task; all are released at time 0."""
    del options
    specified, executed, files = _parts(path, text)
    names = list(specified)
    rows = {name: row for row, name in enumerate(names)}
    parents = [_parent_rows(path, name, task, rows) for name, task in specified.items()]
    _check_children(path, specified, rows, parents)
    order = _order(path, names, parents)
    rank = {row: place for place, row in enumerate(order)}
    tasks = [(names[row], specified[names[row]], executed[names[row]]) for row in order]
    offsets, flat = flat_parents([sorted(rank[parent] for parent in parents[row]) for row in order])
    memory = np.array([_memory_mb(path, name, spec, run, files) for name, spec, run in tasks])
    intensity = np.array([_intensity(path, name, run) for name, _, run in tasks])
    count = len(order)
    return Records(
        task_id=np.arange(count),
        arrival_s=np.zeros(count),
        cpu_s=np.array([_number(path, name, run, "runtimeInSeconds") for name, _, run in tasks]),
        gpu_s=unknown(count),
        intensity=intensity,
        memory_mb=memory,
        mode=np.full(count, ANY_MODE),
        parent_offsets=offsets,
        parent_ids=flat,
        notes=_notes(intensity, memory),
        kind=tuple(_kind(name, run) for name, _, run in tasks),
    )


def _kind(name: str, run: Mapping[str, Any]) -> str:
    """The program that a task ran, else its category, else its name without what numbers it."""
    command = run.get("command")
    program = command.get("program") if isinstance(command, dict) else None
    for told in (program, run.get("category")):
        if isinstance(told, str) and told.isprintable() and 0 < len(told) <= LONGEST_KIND and " " not in told:
            return told
    short = _NUMBERING.sub("", name)[:LONGEST_KIND]
    return short if short.isprintable() else ""


def _refuse(path: Path, reason: str) -> NoReturn:
    raise WorkloadError(f"{path}: {reason}.")


def _parts(path: Path, text: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, float]]:
    """Return specification and execution by task id, and file sizes by file id."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise WorkloadError(f"{path}, line {error.lineno}: this is not JSON ({error.msg}).") from error
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{path}: this JSON is too deep or holds an absurd number.") from error
    if not isinstance(document, dict) or "schemaVersion" not in document:
        _refuse(path, "this JSON is no object with a schemaVersion, as WfFormat has it")
    version = document["schemaVersion"]
    if version != "1.5":
        _refuse(path, f"schemaVersion is {version!r}; this reader knows WfFormat '1.5'")
    specification = _object(path, _object(path, document, "workflow"), "specification")
    execution = _object(path, document["workflow"], "execution")
    specified = _by_id(path, _list(path, specification, "tasks"), "specification")
    executed = _by_id(path, _list(path, execution, "tasks"), "execution")
    if not specified:
        _refuse(path, "there is no task in it")
    for name in specified:
        if name not in executed:
            _refuse(path, f"task '{name}' is specified but has no execution")
    files = _by_id(path, _list(path, specification, "files") if "files" in specification else [], "files")
    sizes = {name: _number(path, name, file, "sizeInBytes") for name, file in files.items()}
    return specified, executed, sizes


def _object(path: Path, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    if not isinstance(value, dict):
        _refuse(path, f"'{key}' is missing or is not an object")
    return value


def _list(path: Path, parent: Mapping[str, Any], key: str) -> list[Any]:
    value = parent.get(key, [])
    if not isinstance(value, list):
        _refuse(path, f"'{key}' is not an array")
    return value


def _by_id(path: Path, entries: Sequence[Any], part: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, entry in enumerate(entries):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            _refuse(path, f"entry {place} of {part} has no 'id'")
        if name in found:
            _refuse(path, f"the id '{name}' occurs more than once in {part}")
        found[name] = entry
    return found


def _parent_rows(path: Path, name: str, task: Mapping[str, Any], rows: Mapping[str, int]) -> list[int]:
    parents = _list(path, task, "parents")
    for parent in parents:
        if parent == name:
            _refuse(path, f"task '{name}' depends on itself")
        if not isinstance(parent, str) or parent not in rows:
            _refuse(path, f"task '{name}' depends on task {parent!r}, which does not exist")
    return [rows[parent] for parent in dict.fromkeys(parents)]


def _check_children(path: Path, specified: Mapping[str, Any], rows: Mapping[str, int], parents: _Graph) -> None:
    """Refuse a file whose `children` name an edge that its `parents` do not."""
    edges = {(parent, child) for child, listed in enumerate(parents) for parent in listed}
    for name, task in specified.items():
        for child in _list(path, task, "children"):
            if not isinstance(child, str) or (rows[name], rows.get(child, -1)) not in edges:
                _refuse(path, f"task '{name}' names {child!r} as a child, but not the other way round")


def _order(path: Path, names: Sequence[str], parents: _Graph) -> list[int]:
    """Rows by level, then as in the file, so that the first n tasks never miss a parent."""
    level = levels(*flat_parents(parents)).tolist()
    if min(level) < 0:
        row = level.index(-1)
        seen: list[int] = []
        while row not in seen:
            seen.append(row)
            row = next(parent for parent in parents[row] if level[parent] < 0)
        members = [names[member] for member in seen[seen.index(row) :]]
        shown = ", ".join(members[:8]) + (", ..." if len(members) > 8 else "")
        _refuse(path, f"tasks {shown} depend on each other in a cycle")
    return sorted(range(len(names)), key=lambda row: (level[row], row))


def _number(path: Path, name: str, entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    sound = isinstance(value, (int, float)) and not isinstance(value, bool)
    number = float(value) if sound and abs(value) < _ABSURD else math.nan  # type: ignore[arg-type]
    if not number >= 0.0:
        _refuse(path, f"'{name}' has {key} = {value!r}, which is not a finite number of at least 0")
    return number


def _intensity(path: Path, name: str, run: Mapping[str, Any]) -> float:
    """Per cent of one core that the task kept busy; NaN if it was not recorded."""
    return min(1.0, _number(path, name, run, "avgCPU") / 100.0) if "avgCPU" in run else math.nan


def _memory_mb(
    path: Path, name: str, spec: Mapping[str, Any], run: Mapping[str, Any], files: Mapping[str, float]
) -> float:
    """Size of the files read and written, else the peak memory, else NaN."""
    touched = [*_list(path, spec, "inputFiles"), *_list(path, spec, "outputFiles")]
    for file in touched:
        if not isinstance(file, str) or file not in files:
            _refuse(path, f"task '{name}' uses the file {file!r}, which is not listed")
    if touched:
        return sum(files[file] for file in touched) / _BYTES_PER_MB
    return _number(path, name, run, "memoryInBytes") / _BYTES_PER_MB if "memoryInBytes" in run else math.nan


def _notes(intensity: FloatColumn, memory: FloatColumn) -> tuple[Assumption, ...]:
    run = "the CPU time of a task is its measured run time; that it ran on CPUs only is all that is known of GPUs."
    release = "a workflow has no arrival process, so all its tasks arrive at time 0."
    notes = [Assumption(name="run_as_cpu_time", text=run), Assumption(name="released_at_once", text=release)]
    if not np.isnan(intensity).all():
        text = "intensity is the recorded share of one core that the task kept busy (at most 1)."
        notes.append(Assumption(name="intensity_from_cpu_share", text=text))
    if not np.isnan(memory).all():
        text = "memory is the size of the files that a task reads and writes (else its peak memory)."
        notes.append(Assumption(name="memory_from_files", text=text))
    return tuple(notes)
