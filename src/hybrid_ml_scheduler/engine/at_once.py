"""Strategies that decide a task when it becomes ready: a prescribed share, the fastest split, the least charge."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import NO_GPU
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.engine.placing import learned_terms, terms_of
from hybrid_ml_scheduler.engine.queues import estimated_end_s
from hybrid_ml_scheduler.engine.state import DECIDED, FASTEST_SPLIT, GPU, PRESCRIBED, SHARE, State
from hybrid_ml_scheduler.learning.belief import mean_factors
from hybrid_ml_scheduler.physics.choices import fastest_split, least_backlog, least_charge
from hybrid_ml_scheduler.physics.gangs import gang_backlogs

__all__ = ["decide_at_once"]


@compiled(inner=True)
def decide_at_once(s: State, row: int, now: float) -> None:
    """Decide a task that has become ready by what its strategy is shown; the choice goes to `progress`."""
    rule, devices, scratch, progress = s.rule, s.devices, s.scratch, s.progress
    cpu_backlog, backlog = _look(s, now), scratch.backlog[1 : devices.gpu_kind.shape[0] + 1]
    if s.has_gangs and s.tasks.width[row] > 1:
        # To a gang, a GPU is as busy as the busiest of those it would take with it, and has their least memory.
        for gpu in range(backlog.shape[0]):
            scratch.alone[gpu] = backlog[gpu]
        gang_backlogs(
            s.tasks.width[row], devices.gpu_kind, devices.kind_counts, devices.gpu_memory_mb, scratch.alone,
            scratch.leads, scratch.room_mb,
        )  # fmt: skip
        backlog = scratch.leads
    terms = terms_of(s, row)
    if s.learns:
        _recall(s, row, terms)
        terms = learned_terms(s, terms)
    if rule.form == PRESCRIBED:
        place = progress.counts[DECIDED] if rule.by_decision else row
        wanted, gpu = rule.fractions[place], rule.gpus[place] if rule.gpus.shape[0] > 0 else NO_GPU
    elif rule.form == FASTEST_SPLIT:
        wanted, gpu = fastest_split(terms, backlog, rule.grid[0])
    else:
        wanted, gpu = least_charge(terms, cpu_backlog, backlog, rule.grid[0], rule.price[0])
    progress.counts[GPU] = gpu if gpu >= 0 else least_backlog(backlog)
    progress.clock[SHARE] = wanted


@compiled(inner=True)
def _look(s: State, now: float) -> float:
    """Fill in the backlog of every device as the strategy is shown it; returns that of the CPU."""
    backlog = s.scratch.backlog
    for device in range(backlog.shape[0]):
        if s.sees_ends:
            backlog[device] = estimated_end_s(s, device, now) - now
        else:
            backlog[device] = max(s.queues.books_s[device], now) - now
    least = backlog[0]
    for slot in range(s.devices.gpu_kind.shape[0] + 1, backlog.shape[0]):
        least = min(least, backlog[slot])
    return least


@compiled(inner=True)
def _recall(s: State, row: int, terms: Terms) -> None:
    """Fill in what the strategy has learned of a task: the factors of its seconds, and its seconds on the GPUs."""
    beliefs, scratch = s.beliefs, s.scratch
    mean_factors(s.tasks.kind[row], beliefs.cells, beliefs.types, beliefs.shared, beliefs.prior, scratch.told)
    for kind in range(scratch.believed_gpu.shape[0]):
        scratch.believed_gpu[kind] = terms[1][kind] * scratch.told[kind + 1]
    for kind in range(scratch.believed_paged.shape[0]):
        scratch.believed_paged[kind] = terms[2][kind] * scratch.told[kind + 1]
