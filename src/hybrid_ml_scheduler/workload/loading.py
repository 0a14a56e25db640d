"""One door for tasks: a preset by name, or a file of any known dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.csv_file import batch_from_table
from hybrid_ml_scheduler.workload.files import read_text
from hybrid_ml_scheduler.workload.generator import check_seed, generate
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters
from hybrid_ml_scheduler.workload.presets import PRESETS, preset
from hybrid_ml_scheduler.workload.table import csv_table
from hybrid_ml_scheduler.workload.traces import TraceOptions, completed, detected, dialect_named

__all__ = ["load", "resolve"]


def load(
    path: str | Path,
    *,
    dialect: str | None = None,
    seed: int = 0,
    limit: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> TaskBatch:
    """Read a file of tasks: the product's own CSV or a trace, whose gaps are filled by stated assumptions.

    `limit` keeps the first tasks in order of arrival; `options` are those of `TraceOptions`.
    """
    check_seed(seed)
    if limit is not None and limit < 1:
        raise PlanError(f"limit = {limit} must be at least 1.")
    where = Path(path)
    chosen = None if dialect is None else dialect_named(dialect)
    text = read_text(where)
    form = chosen or detected(where, text)
    if form.read is None:
        if options:
            raise PlanError(f"{where}: trace options such as '{next(iter(options))}' do not apply to the own CSV.")
        return _beginning(batch_from_table(csv_table(where, text)), limit, where)
    wanted = TraceOptions.from_mapping(options)
    records = form.read(where, text, wanted)
    return completed(records, str(where), seed=seed, limit=limit, options=wanted)


def _beginning(batch: TaskBatch, limit: int | None, path: Path) -> TaskBatch:
    """Return the first tasks; a cut that separates a task from its parent is refused."""
    if limit is None or limit >= len(batch):
        return batch
    part = batch.take(slice(0, limit))
    lost = part.parent_ids[~np.isin(part.parent_ids, part.task_id)]
    if len(lost):
        raise WorkloadError(
            f"{path}: the limit of {limit} tasks leaves out task {lost[0]}, on which a kept one depends."
        )
    return part


def resolve(
    name_or_path: str | Path,
    *,
    seed: int = 0,
    num_tasks: int | None = None,
    values: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> TaskBatch:
    """Return the tasks of a preset or of a file, whichever the name means.

    `values` replace parameters of a preset (`arrival_rate`, `noise_sigma`, ...); of these a file takes only
    `noise_sigma`. `num_tasks` is how many tasks a preset makes, or how many of a file's are kept.
    """
    name = str(name_or_path)
    given = dict(values or {})
    if name in PRESETS:
        if dialect is not None or options:
            culprit = f"option {next(iter(options))!r}" if options else f"dialect {dialect!r}"
            raise PlanError(f"The {culprit} applies to files only, and {name} is a preset.")
        count = {} if num_tasks is None else {"num_tasks": num_tasks}
        return generate(preset(name).with_values({**given, **count}), seed)
    path = Path(name)
    if not path.exists() and not path.suffix and path.name == name:
        preset(name)  # refuses, with the nearest preset
    for key in given:
        if key != "noise_sigma":
            raise PlanError(f"workload.{key} applies to presets only, and {name} is a file.")
    batch = load(path, dialect=dialect, seed=seed, limit=num_tasks, options=options)
    return _with_noise(batch, seed, given.get("noise_sigma", 0.0))


def _with_noise(batch: TaskBatch, seed: int, sigma: float) -> TaskBatch:
    """Draw the luck of tasks that came without any."""
    law = WorkloadParameters(noise_sigma=sigma)
    if sigma == 0.0:
        return batch
    if batch.is_noisy:
        raise PlanError("workload.noise_sigma cannot be given: the file has a duration_factor of its own.")
    drawn = draws.factors(draws.streams(seed), law, len(batch))
    drawn.flags.writeable = False
    note = f"duration_noise: each duration is multiplied by a log-normal factor with mean 1 and sigma {sigma:g}."
    return replace(batch, duration_factor=drawn, assumptions=(*batch.assumptions, note))
