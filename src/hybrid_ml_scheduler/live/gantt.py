"""Device intervals rebuilt from stored outcomes: which part ran where and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hybrid_ml_scheduler.core import NO_GPU

__all__ = ["Interval", "PlacedTask", "device_intervals"]


class PlacedTask(NamedTuple):
    """What is stored about one finished task of one strategy."""

    task_id: int
    gpu_fraction: float
    gpu: int
    ready_s: float
    start_s: float
    finish_s: float
    cpu_s: float
    gpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One part on one device."""

    device: str
    task_id: int
    begin_s: float
    end_s: float
    gpu_fraction: float


def device_intervals(placed: Iterable[PlacedTask], *, serial: bool = False) -> list[Interval]:
    """Rebuild the parts in order of decision.

    A queue is first in, first out, so a part begins when it is ready or when the part before it ends. For the first
    split of a window the part before may be unknown; then the stored start and finish say which part is where.
    """
    free_s: dict[str, float] = {}
    found: list[Interval] = []
    for task in sorted(placed, key=lambda one: (one.ready_s, one.task_id)):
        for device, begin_s, end_s in _parts(task, free_s, serial):
            free_s[device] = end_s
            fraction = task.gpu_fraction
            found.append(
                Interval(device=device, task_id=task.task_id, begin_s=begin_s, end_s=end_s, gpu_fraction=fraction)
            )
    return found


def _parts(task: PlacedTask, free_s: dict[str, float], serial: bool) -> list[tuple[str, float, float]]:
    gpu_name = f"gpu_{task.gpu}"
    if task.gpu == NO_GPU or task.gpu_s <= 0.0:
        return [("cpu", task.start_s, task.finish_s)]
    if task.cpu_s <= 0.0:
        return [(gpu_name, task.start_s, task.finish_s)]
    if serial:  # the GPU part waits for the CPU part and ends the task
        return [("cpu", task.start_s, task.start_s + task.cpu_s), (gpu_name, task.finish_s - task.gpu_s, task.finish_s)]
    cpu_first = _cpu_begins_first(task, free_s, gpu_name)
    begins = (task.start_s, _later(task, free_s.get(gpu_name), task.gpu_s))
    if not cpu_first:
        begins = (_later(task, free_s.get("cpu"), task.cpu_s), task.start_s)
    return [("cpu", begins[0], begins[0] + task.cpu_s), (gpu_name, begins[1], begins[1] + task.gpu_s)]


def _cpu_begins_first(task: PlacedTask, free_s: dict[str, float], gpu_name: str) -> bool:
    cpu_free, gpu_free = free_s.get("cpu"), free_s.get(gpu_name)
    if cpu_free is not None:
        return max(task.ready_s, cpu_free) <= task.start_s
    if gpu_free is not None:
        return max(task.ready_s, gpu_free) > task.start_s
    return task.start_s + task.gpu_s > task.finish_s or task.cpu_s <= task.gpu_s


def _later(task: PlacedTask, free_s: float | None, seconds: float) -> float:
    """When the part that begins later begins: behind its queue, or so that it ends at the finish."""
    if free_s is None:
        return max(task.start_s, task.finish_s - seconds)
    return max(task.ready_s, free_s)
