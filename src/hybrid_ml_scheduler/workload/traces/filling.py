"""Named, seeded assumptions that complete a trace: intensity, memory, the other device's time, size, arrival scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.streams import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.validation import validated
from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.columns import batch_of
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import ANY_MODE, PARALLEL, SERIAL, Assumption, Records

__all__ = ["completed"]

_REFERENCE_SIZE = 1000.0
Filled = tuple[FloatColumn, list[Assumption]]


def completed(records: Records, source: str, *, seed: int, limit: int | None, options: TraceOptions) -> TaskBatch:
    """Turn what a trace says into tasks, filling what it lacks; every guess ends up in `assumptions`."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # what overflows is refused by name below
        return validated(_batch(_first(records, source, limit), seed, options), source)


def _batch(kept: Records, seed: int, options: TraceOptions) -> TaskBatch:
    rng = _Streams(seed)
    intensity, intensity_notes = _intensity(kept, rng)
    memory, memory_notes = _memory(kept, rng, options)
    cpu_s, gpu_s, size, time_notes = _times(kept, rng, intensity, options)
    arrival, arrival_notes = _arrival(kept, gpu_s, options)
    notes = (*kept.notes, *intensity_notes, *memory_notes, *time_notes, *arrival_notes)
    return batch_of(
        task_id=kept.task_id,
        size=size,
        compute_intensity=intensity,
        memory_required=memory,
        arrival_time=arrival,
        cpu_time=cpu_s,
        gpu_time=gpu_s,
        assumptions=[str(note) for note in notes],
        parent_offsets=kept.parent_offsets,
        parent_ids=kept.parent_ids,
    )


class _Streams:
    """The generators of one reading, each with its own name."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __getitem__(self, name: str) -> np.random.Generator:
        return stream(self._seed, "trace", name)


def _first(records: Records, source: str, limit: int | None) -> Records:
    """Sort by (arrival, id), keep the first `limit` tasks and let the earliest arrive at 0."""
    order = np.lexsort((records.task_id, records.arrival_s))[:limit]
    lengths = np.diff(records.parent_offsets)[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    begins = np.repeat(records.parent_offsets[:-1][order] - offsets[:-1], lengths)
    parents = records.parent_ids[begins + np.arange(len(begins))]
    cut = np.flatnonzero(~np.isin(parents, records.task_id[order]) & np.isin(parents, records.task_id))
    if len(cut):
        raise WorkloadError(
            f"{source}: the limit of {limit} tasks leaves out task {parents[cut[0]]}, on which a kept one depends."
        )
    names = ("task_id", "cpu_s", "gpu_s", "intensity", "memory_mb", "mode")
    return replace(
        records,
        arrival_s=records.arrival_s[order] - records.arrival_s[order].min(),
        parent_offsets=offsets,
        parent_ids=parents,
        **{name: getattr(records, name)[order] for name in names},
    )


def _share(missing: np.ndarray) -> str:
    return "all tasks" if missing.all() else f"{int(missing.sum()):,} of {len(missing):,} tasks"


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
    note = Assumption(name="guessed_intensity", text=f"the compute intensity of {_share(missing)} is {text}.")
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
    text = f"the memory of {_share(missing)} is drawn uniformly from [{low:g}, {high:g}] MB."
    return np.where(missing, guess, records.memory_mb), [Assumption(name="guessed_memory", text=text)]


def _times(
    records: Records, rng: _Streams, intensity: FloatColumn, options: TraceOptions
) -> tuple[FloatColumn, FloatColumn, FloatColumn, list[Assumption]]:
    """Return CPU seconds, GPU seconds and size; the speed-up and the size follow the physics' own formulas."""
    reference_s, gain = _reference(intensity)
    ratio = gain * rng["speedup"].lognormal(0.0, options.speedup_sigma, len(records))
    no_cpu, no_gpu = np.isnan(records.cpu_s), np.isnan(records.gpu_s)
    cpu_s = np.where(no_cpu, records.gpu_s * ratio, records.cpu_s) * options.time_scale
    gpu_s = np.where(no_gpu, records.cpu_s / ratio, records.gpu_s) * options.time_scale
    # The base duration grows with size^1.5, so its inverse is the power 2/3.
    scaled = cpu_s / reference_s
    size = _REFERENCE_SIZE * np.cbrt(scaled * scaled)
    notes = [_time_scale_note(options)]
    for missing, device, form in ((no_cpu, "CPU", "GPU time x"), (no_gpu, "GPU", "CPU time /")):
        if missing.any():
            text = (
                f"the {device} time of {_share(missing)} is its {form} speed-up, where the speed-up is that of the "
                f"default physics for its intensity (1 + 3 I) times a log-normal factor (median 1, "
                f"sigma {options.speedup_sigma:g})."
            )
            notes.append(Assumption(name=f"guessed_{device.lower()}_time", text=text))
    notes.append(Assumption(name="derived_size", text="size is what makes the default physics give the CPU time."))
    return cpu_s, gpu_s, size, notes


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


def _time_scale_note(options: TraceOptions) -> Assumption:
    if options.time_scale == 1.0:
        return Assumption(name="time_scale", text="durations are in the trace's own seconds (time_scale 1).")
    text = f"all durations and arrival times are multiplied by {options.time_scale:g}."
    return Assumption(name="time_scale", text=text)


def _arrival(records: Records, gpu_s: FloatColumn, options: TraceOptions) -> Filled:
    arrival = records.arrival_s * options.time_scale
    span = float(arrival[-1])
    asked = options.arrival_scale is not None or options.target_load is not None
    if span == 0.0:
        if asked:
            raise PlanError("Trace options arrival_scale and target_load need tasks that arrive at different times.")
        return arrival, []
    factor, why = _arrival_factor(records, gpu_s, span, options)
    text = f"arrival times are {why}; the last task arrives at {span * factor:,.6g} s."
    return arrival * factor, [Assumption(name="arrival_scale", text=text)]


def _arrival_factor(records: Records, gpu_s: FloatColumn, span: float, options: TraceOptions) -> tuple[float, str]:
    if options.arrival_scale is not None:
        return options.arrival_scale, f"multiplied by {options.arrival_scale:g} as asked"
    load = options.target_load if options.target_load is not None else records.target_load
    if load is None:
        return 1.0, "as recorded (arrival_scale 1)"
    factor = float(gpu_s.sum()) / (options.gpus * load * span)
    return factor, (
        f"multiplied by {factor:.6g}, so that the GPU times alone would keep {options.gpus:g} GPUs "
        f"busy {load:.0%} of the time (target_load {load:g})"
    )
