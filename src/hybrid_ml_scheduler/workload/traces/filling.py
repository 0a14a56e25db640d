"""Named, seeded assumptions that complete a trace: intensity, memory, the spread of speed-ups, size, arrival scale."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.validation import validate_batch
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.arrival_times import ArrivalChoice, with_arrivals
from hybrid_ml_scheduler.workload.columns import batch_of, flat_parents, with_named_type
from hybrid_ml_scheduler.workload.missing_times import missing_time_notes, share_of
from hybrid_ml_scheduler.workload.parts import WHOLE, Part, parents_within
from hybrid_ml_scheduler.workload.traces.options import ANYWHERE, TRACED, TraceOptions
from hybrid_ml_scheduler.workload.traces.records import ANY_MODE, PARALLEL, SERIAL, Assumption, Records
from hybrid_ml_scheduler.workload.wide_gangs import most_gpus, wide_gangs_note, without_misfits
from hybrid_ml_scheduler.workload.without_zeros import parents_inherited, zero_seconds_note

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["complete_records", "size_for_times"]

_REFERENCE_SIZE = 1000.0
RUNS_ON_DEFAULT = ANYWHERE
_SIZE = "size is what makes the default physics give the CPU time."
Filled = tuple[FloatColumn, list[Assumption]]


def complete_records(
    records: Records,
    source: str,
    *,
    seed: int,
    limit: int | None,
    options: TraceOptions,
    rate: float | None = None,
    node: Node | None = None,
    part: Part = WHOLE,
) -> TaskBatch:
    """Turn what a trace says into tasks, filling what it lacks; every guess ends up in `assumptions`."""
    choice = ArrivalChoice(
        scale=options.arrival_scale,
        rate=rate,
        load=options.target_load,
        usual_load=records.target_load,
        gpus=options.gpus,
    )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # what overflows is refused by name below
        fitting = without_wide_gangs(_without_zeros(records, source), source, most_gpus(node, options.gpus))
        batch = validate_batch(_batch(_first(fitting, source, limit, part), seed, options), source)
        if node is not None:
            batch = without_misfits(batch, node, source)
        if options.gpu_type is not None:
            batch = with_named_type(batch, options.gpu_type, node)
        found, text = with_arrivals(batch, choice, node)
        notes = [] if text is None else [str(Assumption(name="arrival_scale", text=text))]
        return validate_batch(replace(found, assumptions=(*found.assumptions, *notes)), source)


def _batch(kept: Records, seed: int, options: TraceOptions) -> TaskBatch:
    rng = _Streams(seed)
    intensity, intensity_notes = _intensity(kept, rng)
    memory, memory_notes = _memory(kept, rng, options)
    cpu_s, gpu_s = kept.cpu_s * options.time_scale, kept.gpu_s * options.time_scale
    typed_s = None if kept.gpu_times is None else kept.gpu_times * options.time_scale
    fastest_s = gpu_s if typed_s is None else np.fmin(gpu_s, np.fmin.reduce(typed_s, axis=1))
    half = np.isnan(cpu_s) != np.isnan(fastest_s)
    factor = np.where(half, rng["speedup"].lognormal(0.0, options.speedup_sigma, len(kept)), 1.0)
    notes = (*kept.notes, *intensity_notes, *memory_notes, _time_scale_note(options), _whole_note(options))
    gpu_only, gpus_required, runs_on_note = _devices(kept, options)
    notes = (*notes, *runs_on_note)
    codes = {name: code for code, name in enumerate(dict.fromkeys(["", *kept.kind]))}
    batch = batch_of(
        task_id=kept.task_id,
        size=size_for_times(cpu_s, fastest_s, factor, intensity),
        compute_intensity=intensity,
        memory_required=memory,
        arrival_time=kept.arrival_s * options.time_scale,
        cpu_time=cpu_s,
        gpu_time=gpu_s,
        speedup_factor=factor,
        gpu_times=typed_s,
        gpu_types=kept.gpu_types,
        gpus_required=gpus_required,
        gpu_only=gpu_only,
        fp32=np.full(len(kept), kept.fp32),
        divisible=_divisible(kept, options, gpu_only, gpus_required),
        kind=None if not kept.kind else [codes[name] for name in kept.kind],
        kind_names=codes,
        requested_time=None if kept.requested_s is None else kept.requested_s * options.time_scale,
        parent_offsets=kept.parent_offsets,
        parent_ids=kept.parent_ids,
    )
    spread = f" times a log-normal factor (median 1, sigma {options.speedup_sigma:g})"
    size = Assumption(name="derived_size", text=_SIZE if typed_s is None else f"{_SIZE[:-1]} of the fastest GPU type.")
    said = (*(str(note) for note in notes), *missing_time_notes(batch, spread), str(size))
    return replace(batch, assumptions=said)


def _without_zeros(records: Records, source: str) -> Records:
    """Leave out tasks whose measured times are all zero; their children inherit their parents."""
    zero = (records.cpu_s == 0.0) | (records.gpu_s == 0.0)
    if records.gpu_times is not None:
        zero |= (records.gpu_times == 0.0).any(axis=1)
    if not zero.any():
        return records
    if zero.all():
        raise WorkloadError(f"{source}: every task in it takes 0 seconds.")
    kept, names = np.flatnonzero(~zero), records.task_id[zero].tolist()
    ids, bounds, flat = records.task_id.tolist(), records.parent_offsets.tolist(), records.parent_ids.tolist()
    parents = {one: flat[bounds[row] : bounds[row + 1]] for row, one in enumerate(ids)}
    resolved = parents_inherited(parents, names)
    offsets, parent_ids = flat_parents([sorted(resolved[ids[row]]) for row in kept.tolist()])
    name, _, text = zero_seconds_note(len(names), len(records), names).partition(": ")
    note = Assumption(name=name, text=text)
    return replace(_rows_of(records, kept), parent_offsets=offsets, parent_ids=parent_ids, notes=(*records.notes, note))


def _rows_of(records: Records, rows: IntColumn) -> Records:
    """Some rows of every column; parents are the caller's business."""
    names = ("task_id", "arrival_s", "cpu_s", "gpu_s", "intensity", "memory_mb", "mode")
    return replace(
        records,
        kind=tuple(records.kind[row] for row in rows.tolist()) if records.kind else (),
        requested_s=None if records.requested_s is None else records.requested_s[rows],
        gpu_times=None if records.gpu_times is None else records.gpu_times[rows],
        gpus_required=None if records.gpus_required is None else records.gpus_required[rows],
        held_gpu=None if records.held_gpu is None else records.held_gpu[rows],
        **{name: getattr(records, name)[rows] for name in names},
    )


def without_wide_gangs(records: Records, source: str, found: int | None) -> Records:
    """Leave out tasks that need more GPUs at once than the node has: jobs of a larger cluster, counted and named."""
    from hybrid_ml_scheduler.physics import Node as AnyNode  # compiled code stands behind it

    most = AnyNode().num_gpus if found is None else found
    if records.gpus_required is None or not (records.gpus_required > most).any():
        return records
    kept = np.flatnonzero(records.gpus_required <= most)
    if len(kept) == 0:
        raise WorkloadError(f"{source}: every task needs more GPUs at once than the {most} of the node.")
    if len(records.parent_ids):
        raise WorkloadError(f"{source}: tasks that wait for each other need more GPUs than the {most} of the node.")
    wide = records.gpus_required[records.gpus_required > most]
    name, _, text = wide_gangs_note(len(wide), len(records), most, int(wide.max())).partition(": ")
    offsets = np.zeros(len(kept) + 1, dtype=np.int64)
    note = Assumption(name=name, text=text)
    return replace(_rows_of(records, kept), parent_offsets=offsets, notes=(*records.notes, note))


def _devices(records: Records, options: TraceOptions) -> tuple[BoolColumn, IntColumn | None, list[Assumption]]:
    """Which tasks run on GPUs only, how many each needs, and what is assumed of it."""
    anywhere, gpus = np.zeros(len(records), dtype=np.bool_), records.gpus_required
    if records.held_gpu is None:
        if options.runs_on == TRACED:
            raise PlanError("Trace option runs_on = traced: this trace does not say which tasks ran on GPUs.")
        return anywhere, gpus, []
    held = records.held_gpu
    if (options.runs_on or RUNS_ON_DEFAULT) == ANYWHERE:
        text = (
            "every task may run on the CPU and on GPUs, at guessed seconds where it did not run; --option "
            "runs_on=traced keeps it where it ran."
        )
        return anywhere, gpus, [Assumption(name="runs_on", text=text)]
    needed = np.where(held, np.ones(len(records), dtype=np.int64) if gpus is None else gpus, 0)
    words = ("", f", {share_of(~held)} on the CPU only")[int(not held.all())]
    text = f"{share_of(held)} ran on GPUs and run on GPUs only{words}; --option runs_on=any lets tasks run on both."
    return held, needed, [Assumption(name="runs_on", text=text)]


def _divisible(
    records: Records, options: TraceOptions, gpu_only: BoolColumn, gpus_required: IntColumn | None
) -> BoolColumn:
    """Whether each task may be cut: as asked, but never one for several GPUs at once or for one sort of device."""
    asked = np.full(len(records), bool(options.divisible)) & ~gpu_only
    return asked if gpus_required is None else asked & (gpus_required == 1)


class _Streams:
    """The generators of one reading, each with its own name."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __getitem__(self, name: str) -> np.random.Generator:
        return stream(self._seed, "trace", name)


def _first(records: Records, source: str, limit: int | None, part: Part) -> Records:
    """Sort by (arrival, id), keep the first `limit` tasks of the part and let the earliest arrive at 0."""
    by_time = np.lexsort((records.task_id, records.arrival_s))
    rows = part.rows(len(by_time), limit)
    order = by_time[rows]
    if len(order) == 0:
        raise WorkloadError(f"{source}: no task lies in the part from {part.begin:.0%} to {part.end:.0%}.")
    lengths = np.diff(records.parent_offsets)[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    begins = np.repeat(records.parent_offsets[:-1][order] - offsets[:-1], lengths)
    offsets, parents, done = parents_within(
        records.parent_ids[begins + np.arange(len(begins))],
        offsets,
        records.task_id[order],
        records.task_id[by_time[: rows.start]],
        source,
    )
    return replace(
        _rows_of(records, order),
        arrival_s=records.arrival_s[order] - records.arrival_s[order].min(),
        parent_offsets=offsets,
        parent_ids=parents,
        notes=(*records.notes, *_part_notes(part, len(by_time), len(order), done)),
    )


def _part_notes(part: Part, count: int, kept: int, done: int) -> list[Assumption]:
    notes = []
    if part != WHOLE:
        name, _, text = part.words(count, kept).partition(": ")
        notes.append(Assumption(name=name, text=text))
    if done:
        text = f"{done:,} dependencies on tasks before the part are taken as fulfilled."
        notes.append(Assumption(name="parents_before_the_part", text=text))
    return notes


def _intensity(records: Records, rng: _Streams) -> Filled:
    missing = np.isnan(records.intensity)
    if not missing.any():
        return records.intensity, []
    count = len(records)
    drawn = rng["intensity_mode"].random(count) < draws.FIRST_MODE_SHARE
    serial = np.where(records.mode == ANY_MODE, drawn, records.mode == SERIAL)
    (low, low_spread), (high, high_spread) = draws.MODES
    normal = rng["intensity"].standard_normal(count)
    guess = np.where(serial, low, high) + np.where(serial, low_spread, high_spread) * normal
    text = _intensity_text(records.mode[missing])
    note = Assumption(name="guessed_intensity", text=f"the compute intensity of {share_of(missing)} is {text}.")
    return np.where(missing, np.clip(guess, 0.0, 1.0), records.intensity), [note]


def _intensity_text(mode: IntColumn) -> str:
    (low, low_spread), (high, high_spread) = draws.MODES
    serial, parallel = f"N({low:g}, {low_spread:g})", f"N({high:g}, {high_spread:g})"
    if (mode == ANY_MODE).all():
        share = draws.FIRST_MODE_SHARE
        return f"drawn, {share:.0%} from {serial} and {1 - share:.0%} from {parallel}, clipped to [0, 1]"
    if (mode == PARALLEL).all():
        return f"drawn from {parallel}, as of work made for GPUs, clipped to [0, 1]"
    return f"drawn from {parallel} where a GPU was asked for and from {serial} elsewhere, clipped to [0, 1]"


def _memory(records: Records, rng: _Streams, options: TraceOptions) -> Filled:
    missing = np.isnan(records.memory_mb)
    if not missing.any():
        return records.memory_mb, []
    low, high = options.memory_low_mb, options.memory_high_mb
    guess = rng["memory"].uniform(low, high, len(records))
    text = f"the memory of {share_of(missing)} is drawn uniformly from [{low:g}, {high:g}] MB."
    return np.where(missing, guess, records.memory_mb), [Assumption(name="guessed_memory", text=text)]


def size_for_times(cpu_s: FloatColumn, gpu_s: FloatColumn, factor: FloatColumn, intensity: FloatColumn) -> FloatColumn:
    """The size for which the default physics gives the CPU time, measured or guessed by the default physics."""
    reference_s, gain = _reference(intensity)
    believed_s = np.where(np.isnan(cpu_s), gpu_s * gain * factor, cpu_s)
    # The base duration grows with size^1.5, so its inverse is the power 2/3.
    scaled = believed_s / reference_s
    size: FloatColumn = _REFERENCE_SIZE * np.cbrt(scaled * scaled)
    return size


def _reference(intensity: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
    """CPU seconds of a task of size 1000 without transfer, and its speed-up, asked from the physics."""
    from hybrid_ml_scheduler.physics import Node, durations  # compiled code: only when a trace is read

    count = len(intensity)
    probe = TaskBatch.from_columns(
        size=np.full(count, _REFERENCE_SIZE),
        compute_intensity=intensity,
        memory_required=np.zeros(count),
        arrival_time=np.zeros(count),
    )
    believed = durations(probe, Node())
    return believed.cpu_s, believed.cpu_s / believed.on_gpu(0)


def _whole_note(options: TraceOptions) -> Assumption:
    if options.divisible:
        return Assumption(name="divisible", text="every task may be cut between CPU and GPU, as asked (divisible 1).")
    text = (
        "a task runs whole on one device, since a job cannot be cut; a split decided for it goes to the nearer whole "
        "device (divisible 0)."
    )
    return Assumption(name="indivisible", text=text)


def _time_scale_note(options: TraceOptions) -> Assumption:
    if options.time_scale == 1.0:
        return Assumption(name="time_scale", text="durations are in the trace's own seconds (time_scale 1).")
    text = f"all durations and arrival times are multiplied by {options.time_scale:g}."
    return Assumption(name="time_scale", text=text)
