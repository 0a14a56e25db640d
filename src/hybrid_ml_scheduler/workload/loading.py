"""One door for tasks: a preset by name, or a file of any known dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.arrival_times import ArrivalChoice, with_arrivals
from hybrid_ml_scheduler.workload.columns import check_types, with_named_type
from hybrid_ml_scheduler.workload.csv_file import batch_from_table
from hybrid_ml_scheduler.workload.files import read_text
from hybrid_ml_scheduler.workload.generator import check_seed, generate
from hybrid_ml_scheduler.workload.json_rows import table_of
from hybrid_ml_scheduler.workload.mapping import map_columns
from hybrid_ml_scheduler.workload.missing_times import missing_time_notes
from hybrid_ml_scheduler.workload.own_gaps import complete_table
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters
from hybrid_ml_scheduler.workload.parts import WHOLE, Part, parents_within
from hybrid_ml_scheduler.workload.presets import PRESETS, preset
from hybrid_ml_scheduler.workload.row_filter import WHERE, rows_where, where_of
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces import (
    DIALECTS,
    OWN,
    TraceOptions,
    complete_records,
    detect_dialect,
    dialect_named,
)
from hybrid_ml_scheduler.workload.wide_gangs import most_gpus, without_misfits, without_wide_gangs

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["load", "resolve"]

_OWN_OPTIONS = ("arrival_scale", "target_load", "gpus", "gpu_type", "memory_low_mb", "memory_high_mb", "divisible")
_MAP = "map"
_FILE_VALUES = ("arrival_rate", "noise_sigma", "slo_s")


def load(
    path: str | Path,
    *,
    dialect: str | None = None,
    seed: int = 0,
    limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    rate: float | None = None,
    node: Node | None = None,
    part: Part = WHOLE,
) -> TaskBatch:
    """Read a file of tasks: the product's own CSV or a trace, whose gaps are filled by stated assumptions.

    `limit` keeps the first tasks in order of arrival; `options` are those of `TraceOptions`. `rate` sets the mean
    rate of arrivals; a load is that of `node` (default: the default node). `part` keeps a part of the file. Gangs that
    `node` cannot hold are left out, counted and named.
    """
    check_seed(seed)
    if limit is not None and limit < 1:
        raise PlanError(f"limit = {limit} must be at least 1.")
    where, given = Path(path), dict(options or {})
    names, rows = given.pop(_MAP, {}), where_of(given.pop(WHERE, {}))
    if names and dialect not in (None, OWN):
        raise PlanError(f"--map renames columns of a CSV, and {where} is read as {dialect}.")
    chosen = None if dialect is None else dialect_named(dialect)
    text = read_text(where)
    form = chosen or (DIALECTS[OWN] if names else detect_dialect(where, text))
    wanted = TraceOptions.from_mapping(given)
    if form.read is None:
        _refuse_options(where, given)
        table, notes = rows_where(table_of(where, text), rows)
        if "divisible" in given and "divisible" not in table.columns and not wanted.divisible:
            table = replace(table, columns={**table.columns, "divisible": ["no"] * len(table)})
        batch = _own_batch(table, names, seed, wanted)
        batch = replace(batch, assumptions=(*batch.assumptions, *notes))
        check_types(batch, node, where)
        most = most_gpus(node, wanted.gpus)
        if most is not None:
            batch = without_wide_gangs(batch, most, str(where))
        if node is not None:
            batch = without_misfits(batch, node, str(where))
        return _own(_beginning(batch, limit, where, part), wanted, rate, node)
    return complete_records(
        form.read(where, text, wanted, rows),
        str(where),
        seed=seed,
        limit=limit,
        options=wanted,
        rate=rate,
        node=node,
        part=part,
    )


def _refuse_options(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse options of which the own CSV knows nothing."""
    for name in given:
        if name not in _OWN_OPTIONS:
            raise PlanError(
                f"{path}: the trace option '{name}' does not apply to the own CSV, which takes "
                f"{', '.join(_OWN_OPTIONS)}."
            )


def _own_batch(table: Table, names: Mapping[str, str], seed: int, options: TraceOptions) -> TaskBatch:
    """The own CSV with foreign names mapped and gaps filled, each with its note."""
    table, mapped_notes = map_columns(table, names)
    table, notes = complete_table(table, seed, options)
    batch = batch_from_table(table)
    return replace(batch, assumptions=(*batch.assumptions, *mapped_notes, *notes))


def _own(batch: TaskBatch, options: TraceOptions, rate: float | None, node: Node | None) -> TaskBatch:
    """The own CSV as it will be run: what it does not say is said, and arrival times are as asked."""
    choice = ArrivalChoice(scale=options.arrival_scale, rate=rate, load=options.target_load, gpus=options.gpus)
    notes = missing_time_notes(batch)
    if options.gpu_type is not None:
        batch = with_named_type(batch, options.gpu_type, node)
    if choice.is_asked:
        batch, text = with_arrivals(batch, choice, node)
        notes.append(f"arrival_scale: {text}")
    return replace(batch, assumptions=(*batch.assumptions, *notes)) if notes else batch


def _beginning(batch: TaskBatch, limit: int | None, path: Path, part: Part) -> TaskBatch:
    """Return the first tasks of the part; a cut that separates a task from a later parent is refused."""
    rows = part.rows(len(batch), limit)
    if rows == slice(0, len(batch)):
        return batch
    kept = batch.take(rows)
    if len(kept) == 0:
        raise WorkloadError(f"{path}: no task lies in the part from {part.begin:.0%} to {part.end:.0%}.")
    earlier = batch.task_id[: rows.start]
    offsets, parents, done = parents_within(kept.parent_ids, kept.parent_offsets, kept.task_id, earlier, str(path))
    notes = [*kept.assumptions, *([part.words(len(batch), len(kept))] if part != WHOLE else [])]
    if done:
        notes.append(f"parents_before_the_part: {done:,} dependencies on tasks before it are taken as fulfilled.")
    times = kept.arrival_time - kept.arrival_time[0] if part != WHOLE else kept.arrival_time
    for column in (times, offsets, parents):
        column.flags.writeable = False
    return replace(kept, arrival_time=times, parent_offsets=offsets, parent_ids=parents, assumptions=tuple(notes))


def resolve(
    name_or_path: str | Path,
    *,
    seed: int = 0,
    num_tasks: int | None = None,
    values: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    options: Mapping[str, Any] | None = None,
    node: Node | None = None,
    part: Part | None = None,
) -> TaskBatch:
    """Return the tasks of a preset or of a file, whichever the name means.

    `values` replace parameters of a preset (`arrival_rate`, `noise_sigma`, ...); of these a file takes only
    `arrival_rate`, `noise_sigma` and `slo_s`. `num_tasks` is how many tasks a preset makes, or how many of a file's
    are kept.
    """
    name = str(name_or_path)
    given = dict(values or {})
    if name in PRESETS:
        if dialect is not None or options or part is not None:
            culprit = f"option {next(iter(options))!r}" if options else f"dialect {dialect!r}" if dialect else "part"
            culprit = next((f"flag --{flag}" for flag in (_MAP, WHERE) if flag in (options or ())), culprit)
            raise PlanError(f"The {culprit} applies to files only, and {name} is a preset.")
        count = {} if num_tasks is None else {"num_tasks": num_tasks}
        return generate(preset(name).with_values({**given, **count}), seed)
    path = Path(name)
    if not path.exists() and not path.suffix and path.name == name:
        preset(name)  # refuses, with the nearest preset
    for key in given:
        if key not in _FILE_VALUES:
            raise PlanError(f"workload.{key} applies to presets only, and {name} is a file.")
    rate = given.get("arrival_rate")
    batch = load(
        path, dialect=dialect, seed=seed, limit=num_tasks, options=options, rate=rate, node=node, part=part or WHOLE
    )
    promised = _with_promise(batch, given.get("slo_s", 0.0))
    return _with_noise(promised, seed, given.get("noise_sigma", 0.0))


def _with_promise(batch: TaskBatch, slo_s: float) -> TaskBatch:
    """Tasks that came without a deadline are due so many seconds after their arrival; 0 leaves them free."""
    law = WorkloadParameters(slo_s=slo_s)
    if not law.slo_s:
        return batch
    deadline = np.where(np.isnan(batch.deadline), law.slo_s, batch.deadline)
    deadline.flags.writeable = False
    note = f"slo: a task without a deadline of its own is due {slo_s:g} s after its arrival."
    return replace(batch, deadline=deadline, assumptions=(*batch.assumptions, note))


def _with_noise(batch: TaskBatch, seed: int, sigma: float) -> TaskBatch:
    """Draw the duration factors of tasks that came without any."""
    law = WorkloadParameters(noise_sigma=sigma)
    if sigma == 0.0:
        return batch
    if batch.is_noisy:
        raise PlanError("workload.noise_sigma cannot be given: the file has a duration_factor of its own.")
    drawn = draws.factors(draws.streams(seed), law, len(batch))
    drawn.flags.writeable = False
    note = f"duration_noise: each duration is multiplied by a log-normal factor with mean 1 and sigma {sigma:g}."
    return replace(batch, duration_factor=drawn, assumptions=(*batch.assumptions, note))
