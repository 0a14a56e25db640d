"""In words, where the GPU seconds of a workload on a node come from: measured, scaled, guessed, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics.durations import durations, gpu_kinds
from hybrid_ml_scheduler.physics.formulas import type_speed
from hybrid_ml_scheduler.physics.gpu_types import REFERENCE_TYPE, gpu_type
from hybrid_ml_scheduler.physics.node import Gpu, Node
from hybrid_ml_scheduler.physics.type_scaling import scaling_error
from hybrid_ml_scheduler.physics.typed_times import TimeSource, TypedTimes, typed_times

__all__ = ["scaling_errors", "time_notes", "type_notes"]

_PUBLISHED = "by published figures (tensor-core FP16 and memory bandwidth, an assumption)"
_BY_FIGURES = (TimeSource.SCALED_BY_TABLE, TimeSource.SCALED_BY_FIGURES)
_VOWELS = "aefhilmnorsx"  # letters whose names begin with a vowel


def time_notes(batch: TaskBatch, node: Node) -> tuple[str, ...]:
    """One sentence for each type of GPU on the node: for how many tasks its seconds are of which origin."""
    kinds = {gpu.type: gpu for gpu in node.gpus if gpu.type}
    if not kinds or (node.curves is not None and not batch.gpu_types and set(kinds) == {node.curves.gpu_type}):
        return ()  # a node without types, or one that is all of the profile's, which speaks for itself
    gpus = list(kinds.values())
    found = typed_times(batch, node, gpus)
    return tuple(_told(gpu, batch, node, found, place) for place, gpu in enumerate(gpus))


def scaling_errors(batch: TaskBatch, node: Node) -> FloatColumn:
    """The factor by which seconds may be off because they are scaled between types (1: they are not).

    A row for each task, a column for each kind of GPU.
    """
    kinds = [node.gpus[index] for index in gpu_kinds(node)[0]]
    found, errors = typed_times(batch, node, kinds), np.ones((len(batch), len(kinds)))
    for place, gpu in enumerate(kinds):
        rows = _scaled(gpu, node, found.source[:, place])
        for code in np.unique(found.origin[rows, place]).tolist():
            origin = node.described_type if code < 0 else gpu_type(batch.gpu_types[code], node.types)
            own = gpu_type(gpu.type, node.types)
            of_code = rows & (found.origin[:, place] == code)
            plain, tensor = (scaling_error(own, origin, fp32=fp32) for fp32 in (True, False))
            errors[of_code, place] = np.where(batch.fp32[of_code], plain, tensor)
    return errors


def _scaled(gpu: Gpu, node: Node, source: IntColumn) -> BoolColumn:
    guessed = (TimeSource.FROM_CPU_TIME, TimeSource.FORMULA) if gpu.type and not _is_described(gpu, node) else ()
    found: BoolColumn = np.isin(source, (*_BY_FIGURES, TimeSource.SCALED_BY_PROFILES, *guessed))
    return found


def _is_described(gpu: Gpu, node: Node) -> bool:
    """Whether the physics describes this very GPU, so that its formula needs no scaling."""
    return gpu.type == (REFERENCE_TYPE if node.curves is None else node.curves.gpu_type)


def _told(gpu: Gpu, batch: TaskBatch, node: Node, found: TypedTimes, place: int) -> str:
    source = found.source[:, place]
    words = _words(gpu, batch, node)
    counts = [(words[one], int(np.count_nonzero(source == one))) for one in TimeSource]
    parts = [f"{count:,} {text}" for text, count in counts if count]
    said = f"GPU seconds on {gpu.type} ({amount(len(batch), 'task')}): {'; '.join(parts)}."
    ratios = [*_ratios_to_origins(gpu, batch, node, found, place), *_ratio_to_formula(gpu, batch, node, source)]
    return " ".join([said, *ratios])


def _ratios_to_origins(gpu: Gpu, batch: TaskBatch, node: Node, found: TypedTimes, place: int) -> list[str]:
    said = []
    for code in np.unique(found.origin[:, place]).tolist():
        if code >= 0:
            rows = found.origin[:, place] == code
            times = found.gpu_s[rows, place] / batch.gpu_times[rows, code]
            said.append(_times_as_long((gpu.type, batch.gpu_types[code]), times, node, batch, rows))
    return said


def _ratio_to_formula(gpu: Gpu, batch: TaskBatch, node: Node, source: IntColumn) -> list[str]:
    rows: BoolColumn = np.isin(source, (TimeSource.FROM_CPU_TIME, TimeSource.FORMULA))
    if not rows.any() or _is_described(gpu, node):
        return []
    dense = np.where(batch.fp32[rows], gpu.fp32_speed, gpu.dense_speed)
    intensity = batch.compute_intensity[rows]
    speeds = [type_speed(*one, gpu.stream_speed) for one in zip(intensity.tolist(), dense.tolist(), strict=True)]
    names = (gpu.type, node.described_type.name)
    return [_times_as_long(names, 1.0 / np.array(speeds), node, batch, rows)]


def _times_as_long(names: tuple[str, str], times: FloatColumn, node: Node, batch: TaskBatch, rows: BoolColumn) -> str:
    """How many times as long the slower of two types takes: the median, the range over tasks, and the error."""
    error = max(
        scaling_error(*(gpu_type(name, node.types) for name in names), fp32=fp32)
        for fp32 in np.unique(batch.fp32[rows]).tolist()
    )
    if np.median(times) < 1.0:
        names, times = (names[1], names[0]), 1.0 / times
    low, middle, high = (f"{value:.2g}" for value in np.quantile(times, [0.0, 0.5, 1.0]))
    span = "" if low == high else f" ({low} to {high})"
    slower, faster = (f"{'an' if name[:1] in _VOWELS else 'a'} {name}" for name in names)
    return (
        f"{slower[0].upper()}{slower[1:]} takes {middle}{span} times as long as {faster}, to within a factor of "
        f"{error:g}."
    )


def type_notes(batch: TaskBatch, nodes: Sequence[Node]) -> list[str]:
    """How many times as long tasks take on each type of the nodes as on one of them, where scaling decides it.

    The type to compare with is the one that most tasks were measured on, the fastest among equals.
    """
    found: dict[str, tuple[Node, Gpu]] = {}
    for node in nodes:
        for gpu in node.gpus:
            if gpu.type:
                found.setdefault(gpu.type, (node, gpu))
    if len(found) < 2:
        return []
    kept = {name: typed_times(batch, node, [gpu]).source[:, 0] for name, (node, gpu) in found.items()}
    alone = replace(batch, gpus_required=np.minimum(batch.gpus_required, 1))  # a node may be too small for gangs
    seconds = {name: durations(alone, node).on_gpu(node.gpus.index(gpu)) for name, (node, gpu) in found.items()}
    measured = {name: int(np.count_nonzero(source == TimeSource.MEASURED)) for name, source in kept.items()}
    with_whom = max(found, key=lambda name: (measured[name], -float(np.median(seconds[name]))))
    said = []
    for name in sorted(found):
        rows = _scaled(found[name][1], found[name][0], kept[name])
        rows |= _scaled(found[with_whom][1], found[with_whom][0], kept[with_whom])
        if name != with_whom and rows.any():
            times = seconds[name][rows] / seconds[with_whom][rows]
            ratio = _times_as_long((name, with_whom), times, found[name][0], batch, rows)
            said.append(f"{ratio[:-1]} (scaled for {int(rows.sum()):,} of {amount(len(batch), 'task')}).")
    return said


def _words(gpu: Gpu, batch: TaskBatch, node: Node) -> dict[TimeSource, str]:
    others = ", ".join(name for name in batch.gpu_types if name != gpu.type)
    reference = "the profile's GPU"
    if node.curves is None:
        reference = f"the formula's GPU, taken as a {gpu_type(REFERENCE_TYPE, node.types).title} (an assumption),"
    scaled = "" if _is_described(gpu, node) else f" for {reference} scaled {_PUBLISHED}"
    return {
        TimeSource.MEASURED: "measured on it",
        TimeSource.SCALED_BY_PROFILES: f"scaled from {others} by the ratio of measured profiles",
        TimeSource.SCALED_BY_TABLE: f"scaled from {others} by a table of measured times",
        TimeSource.SCALED_BY_FIGURES: f"scaled from {others} {_PUBLISHED}",
        TimeSource.TYPE_NOT_NAMED: "given for a GPU whose type is not named, which this type does not change "
        "(--option gpu_type=NAME names it)",
        TimeSource.FROM_CPU_TIME: f"from the CPU time by the speed-up{scaled}",
        TimeSource.FORMULA: f"from size and intensity{scaled}",
    }
