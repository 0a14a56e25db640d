"""Committing a decision: the two parts of a task, who serves them, and what is promised of them."""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, NO_GPU
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.engine.queues import append_part, estimated_end_s, first_slot, release_children, start_next
from hybrid_ml_scheduler.engine.state import DECIDED, DONE, GPU, SHARE, State
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.gangs import gang_members

__all__ = ["commit", "learned_terms", "terms_of", "write_off"]


@compiled(inner=True, forceinline=True)
def terms_of(s: State, row: int) -> Terms:
    """The estimated seconds of a task and the limits they meet; a gang has the least memory of its GPUs."""
    tasks, devices = s.tasks, s.devices
    is_gang = s.has_gangs and tasks.width[row] > 1
    return (
        tasks.cpu_s[row],
        tasks.gpu_s[row],
        tasks.paged_s[row],
        devices.gpu_kind,
        tasks.memory_mb[row],
        s.scratch.room_mb if is_gang else devices.gpu_memory_mb,
        tasks.memory_rule[row],
        devices.serial,
    )


@compiled(inner=True, forceinline=True)
def learned_terms(s: State, terms: Terms) -> Terms:
    """The same with the seconds as the strategy has learned them (`scratch` holds its factors for this task)."""
    if not s.learns:
        return terms
    scratch = s.scratch
    return (
        terms[0] * scratch.told[0], scratch.believed_gpu, scratch.believed_paged, terms[3], terms[4], terms[5],
        terms[6], terms[7],
    )  # fmt: skip


@compiled(inner=True)
def write_off(s: State, row: int, fraction: float, status: int, now: float) -> None:
    """A task cannot run: it has no parts and no finish, and its descendants fail with it."""
    out = s.out
    out.gpu_fraction[row], out.gpu[row], out.status[row] = fraction, NO_GPU, status
    out.cpu_start_s[row] = out.gpu_start_s[row] = out.finish_s[row] = math.nan
    out.cpu_s[row] = out.gpu_s[row] = 0.0
    s.progress.counts[DONE] += 1
    release_children(s, row, now)


@compiled(inner=True, forceinline=True)
def commit(s: State, row: int, now: float) -> None:
    """Queue the parts of a task as decided. Strategies see the estimated seconds, devices take the true ones."""
    tasks, devices, queues, progress, out = s.tasks, s.devices, s.queues, s.progress, s.out
    gpu, wanted, true = progress.counts[GPU], progress.clock[SHARE], terms_of(s, row)
    fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, learned_terms(s, true))
    progress.turn[row] = progress.counts[DECIDED]
    progress.counts[DECIDED] += 1
    if status >= FAILED:
        write_off(s, row, fraction, status, now)
        return
    cpu_true, gpu_true = cpu_part, gpu_part
    if s.learns:
        _, cpu_true, gpu_true, _ = split_on(gpu, wanted, true)
    cpu_s, gpu_s = cpu_true * tasks.cpu_factor[row], gpu_true * tasks.gpu_factor[row, devices.gpu_kind[gpu]]
    if s.learns:
        progress.ratios[row, 0] = cpu_s / cpu_true if cpu_true > 0.0 else 0.0
        progress.ratios[row, 1] = gpu_s / gpu_true if gpu_true > 0.0 else 0.0
    width = tasks.width[row] if gpu_part > 0.0 else 0
    if width > 1:
        gang_members(gpu, width, devices.gpu_kind, devices.kind_counts, s.scratch.alone, out.gang[row])
    out.gpu_fraction[row], out.status[row] = fraction, status
    out.gpu[row] = gpu if gpu_s > 0.0 else NO_GPU
    out.cpu_start_s[row] = out.gpu_start_s[row] = math.nan
    out.cpu_s[row], out.gpu_s[row] = cpu_s, gpu_s
    progress.counts[DONE] += 1
    progress.open_parts[row] = (cpu_part > 0.0) + width
    if not s.sees_ends:
        _reckon(s, row, gpu, cpu_part, gpu_part, width, now)
    if progress.open_parts[row] == 0:
        out.finish_s[row] = now
        release_children(s, row, now)
        return
    slot, cpu_end = 0, now
    if cpu_part > 0.0:
        slot = first_slot(s, queues.free_s) if devices.slots > 1 else 0
        if s.noisy and devices.serial:
            cpu_end = _estimated_slot_end_s(s, now)
        queues.free_s[slot] = max(queues.free_s[slot], now) + cpu_s
        append_part(s, slot, 2 * row, cpu_s, cpu_part, 0.0, now)
        progress.cpu_is_open[row] = True
    if width > 0:
        _commit_gpus(s, row, gpu, width, gpu_part, cpu_end + cpu_part, queues.free_s[slot], now)
    if cpu_part > 0.0:
        start_next(s, slot, now)


@compiled(inner=True)
def _estimated_slot_end_s(s: State, now: float) -> float:
    """When the CPU is estimated to take another part."""
    end = estimated_end_s(s, 0, now)
    for device in range(s.devices.gpu_kind.shape[0] + 1, s.queues.head.shape[0]):
        end = min(end, estimated_end_s(s, device, now))
    return end


@compiled(inner=True)
def _reckon(s: State, row: int, gpu: int, cpu_part: float, gpu_part: float, width: int, now: float) -> None:
    """Add a task to the reckoning of a strategy that sees no part end: estimates only, nothing is taken back."""
    books, others = s.queues.books_s, s.out.gang
    end = now
    if cpu_part > 0.0:
        slot = first_slot(s, books) if s.devices.slots > 1 else 0
        end = max(books[slot], now) + cpu_part
        books[slot] = end
    begin = now
    for place in range(width):
        begin = max(begin, books[(gpu if place == 0 else others[row, place - 1]) + 1])
    if s.devices.serial:
        begin = max(begin, end)
    for place in range(width):
        books[(gpu if place == 0 else others[row, place - 1]) + 1] = begin + gpu_part


@compiled(inner=True)
def _commit_gpus(
    s: State, row: int, gpu: int, width: int, gpu_part: float, after_cpu_s: float, cpu_free_s: float, now: float
) -> None:
    """Queue the part on a GPU, or on all GPUs of a gang, which start together."""
    queues, out, gpu_s = s.queues, s.out, s.out.gpu_s[row]
    waits_for_cpu = s.devices.serial and s.progress.cpu_is_open[row]
    begin, not_before = now, after_cpu_s if waits_for_cpu else 0.0
    if waits_for_cpu:
        begin = cpu_free_s
    for place in range(width):
        device = (gpu if place == 0 else out.gang[row, place - 1]) + 1
        begin = max(begin, queues.free_s[device])
        if width > 1 and s.noisy:
            not_before = max(not_before if place > 0 else 0.0, estimated_end_s(s, device, now))
    for place in range(width):
        device = (gpu if place == 0 else out.gang[row, place - 1]) + 1
        part = 2 * row + 1 if place == 0 else 2 * s.tasks.identity.shape[0] + s.tasks.gang_offsets[row] + place - 1
        queues.free_s[device] = begin + gpu_s
        append_part(s, device, part, gpu_s, gpu_part, not_before, now)
    start_next(s, gpu + 1, now)
