"""The front between mean execution time and mean energy: no choice that the tasks allow lies below it.

For one task the attainable (time, energy) pairs lie on straight pieces between a few corners: CPU alone, the
balanced split, the largest share that fits. A task that must not be cut has its whole devices as corners. Over all
tasks the front is the sum of their lower hulls, which is had by sorting all pieces by how much time a joule costs.
Queues are ignored, so it is a floor for every strategy.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.physics.durations import Durations, durations
from hybrid_ml_scheduler.physics.node import MemoryRule, Node

__all__ = ["time_energy_front"]

_MOST_POINTS = 400


def time_energy_front(
    batch: TaskBatch, node: Node, seconds: Durations | None = None
) -> tuple[FloatColumn, FloatColumn]:
    """Corners of the front, from the fastest to the most frugal: mean seconds and mean joules per task."""
    times, energies = _corners(batch, node, durations(batch, node) if seconds is None else seconds)
    time, energy = _fastest(times, energies)
    start = np.array([time.sum(), energy.sum()])
    more_time, less_energy = _pieces(times, energies, time, energy)
    order = np.argsort(more_time / less_energy, kind="stable")
    path_time = start[0] + np.concatenate([[0.0], np.cumsum(more_time[order])])
    path_energy = start[1] - np.concatenate([[0.0], np.cumsum(less_energy[order])])
    # Thinned for drawing: chords of a convex front lie above it by less than a pixel.
    keep = np.unique(np.linspace(0, len(path_time) - 1, _MOST_POINTS).astype(int))
    return path_time[keep] / len(batch), path_energy[keep] / len(batch)


def _corners(batch: TaskBatch, node: Node, seconds: Durations) -> tuple[FloatColumn, FloatColumn]:
    """Time and energy of every corner of every task, one row a task."""
    cheapest: dict[tuple[int, float], int] = {}
    for index, gpu in enumerate(node.gpus):
        key = (int(seconds.gpu_kind[index]), gpu.memory_mb)
        if key not in cheapest or gpu.power_w < node.gpus[cheapest[key]].power_w:
            cheapest[key] = index
    found = [_of(batch, node, seconds.cpu_s, np.zeros(len(batch)), 0)]
    for index in cheapest.values():
        found += [_of(batch, node, cpu_s, gpu_s, index) for cpu_s, gpu_s in _parts(batch, node, seconds, index)]
    times, energies = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
    for column in (times, energies):  # a task for GPUs only has no corner on the CPU
        column[:, 0] = np.where(batch.gpu_only, column[:, 1], column[:, 0])
    return times, energies


def _parts(batch: TaskBatch, node: Node, seconds: Durations, gpu: int) -> list[tuple[FloatColumn, FloatColumn]]:
    """CPU and GPU seconds at the balanced split and at the largest share, for what fits and for what pages."""
    cpu, whole = seconds.cpu_s, seconds.on_gpu(gpu)
    uncut = ~batch.divisible | (batch.gpus_required > 1)
    most = np.minimum(1.0, node.gpus[gpu].memory_mb / np.maximum(batch.memory_required, 1e-300))
    most = np.where(uncut, np.floor(most), most)
    balanced = np.where(uncut, most, np.minimum(cpu / (cpu + whole), most))
    shares = [(balanced, whole), (most, whole)]
    if node.memory_rule == MemoryRule.PAGE:
        paged = seconds.paged_s[:, seconds.gpu_kind[gpu]]
        # Where all fits there is nothing to page: the corner falls back on the fitting one.
        slow = np.where(most < 1.0, paged, whole)
        even = np.where(uncut, 1.0, np.maximum(cpu / (cpu + slow), most))
        shares += [(even, slow), (np.ones(len(batch)), slow), (most, slow)]
    used = [(np.where(batch.gpus_required == 0, 0.0, np.where(batch.gpu_only, 1.0, share)), s) for share, s in shares]
    return [((1.0 - share) * cpu, share * gpu_s) for share, gpu_s in used]


def _of(
    batch: TaskBatch, node: Node, cpu_s: FloatColumn, gpu_s: FloatColumn, gpu: int
) -> tuple[FloatColumn, FloatColumn]:
    """Execution time and energy of given parts, by the same columns that a run has."""
    columns = RunColumns.empty(batch, node)
    columns.cpu_s[:] = cpu_s * batch.duration_factor
    columns.gpu_s[:] = gpu_s * batch.duration_factor
    columns.gpu[:] = gpu
    # Whatever other GPUs a gang gets, they use no less than as many of the most frugal one.
    frugal = min(range(node.num_gpus), key=lambda one: node.gpus[one].power_w)
    for place in range(columns.gang.shape[1]):
        columns.gang[batch.gpus_required > place + 1, place] = frugal
    columns.status[:] = 0
    return columns.execution_s, columns.energy_j


def _fastest(times: FloatColumn, energies: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
    """The fastest corner of every task; among equally fast ones the most frugal."""
    place = np.lexsort((energies, times), axis=1)[:, :1]
    return np.take_along_axis(times, place, 1)[:, 0], np.take_along_axis(energies, place, 1)[:, 0]


def _pieces(
    times: FloatColumn, energies: FloatColumn, time: FloatColumn, energy: FloatColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Walk each task's lower hull from its fastest corner: always the piece that saves most per second."""
    more_time, less_energy = [], []
    for _ in range(times.shape[1] - 1):
        saved = energy[:, None] - energies
        slower = times - time[:, None]
        price = np.where(saved > 1e-15 * np.abs(energy[:, None]), slower / np.where(saved > 0, saved, 1.0), np.inf)
        # Among pieces of one price the longest, so that no corner is left behind the line.
        best = np.lexsort((-saved, price), axis=1)[:, 0]
        rows = np.flatnonzero(np.isfinite(price[np.arange(len(best)), best]))
        if not len(rows):
            break
        more_time.append(slower[rows, best[rows]])
        less_energy.append(saved[rows, best[rows]])
        time = time.copy()
        energy = energy.copy()
        time[rows], energy[rows] = times[rows, best[rows]], energies[rows, best[rows]]
    if not more_time:
        return np.zeros(0), np.zeros(0)
    return np.concatenate(more_time), np.concatenate(less_energy)
