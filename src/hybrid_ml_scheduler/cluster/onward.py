"""The compiled form of a cluster that goes on: some tasks more behind what its devices have been promised already.

The tasks are independent, their durations differ from the estimates, and with `lessons` the strategy decides by what
it has learned. It is the stepping form, many tasks at once; graphs, gangs and further slots of the CPU are left to it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster.lessons import believe, learn_parts
from hybrid_ml_scheduler.cluster.parts import append_part, estimated_end
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, NO_GPU
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms, Terms
from hybrid_ml_scheduler.engine.heaps import pop_row, push_row
from hybrid_ml_scheduler.engine.state import FASTEST_SPLIT, PRESCRIBED, Outcomes, Rule
from hybrid_ml_scheduler.physics.choices import fastest_split, least_backlog, least_charge, row_terms, split_on
from hybrid_ml_scheduler.physics.durations import Durations
from hybrid_ml_scheduler.physics.placement import Placement, place_parts

__all__ = ["OPEN", "Factors", "Lessons", "Queues", "no_factors", "run_onward", "same_factors"]

# What is counted meanwhile: lessons that are still to come, kinds that the model knows, drifts that it found.
OPEN, KNOWN, DRIFTS = range(3)


class Factors(NamedTuple):
    """What the estimates of each task are multiplied with in truth: on the CPU, and on each kind of GPU."""

    cpu: FloatColumn
    gpu: FloatColumn


def same_factors(factor: FloatColumn, kinds: int) -> Factors:
    """One factor for each task, the same on every device."""
    return Factors(factor, np.repeat(factor, kinds).reshape(-1, kinds))


def no_factors(count: int, seconds: Durations) -> Factors:
    """Tasks that take what is estimated."""
    return same_factors(np.ones(count), seconds.gpu_s.shape[1])


class Queues(NamedTuple):
    """First and last part of each device (-1 = none), what follows each part, and the parts themselves.

    Parts of the new tasks come first, two a task; behind them is room for those that were queued before.
    """

    heads: IntColumn
    tails: IntColumn
    chain: IntColumn
    table: FloatColumn


class Lessons(NamedTuple):
    """What finished tasks teach: those of the new tasks first, then those that were still to come.

    `kind` is the row in the record; `place` of a kind is its row in the model, or -1 while that does not know it.
    """

    kind: IntColumn
    finish: FloatColumn
    turn: IntColumn
    gpu_type: IntColumn
    ratios: FloatColumn
    told: FloatColumn
    heap: IntColumn
    counts: IntColumn
    place: IntColumn
    cells: FloatColumn
    types: FloatColumn
    shared: FloatColumn
    prior: FloatColumn
    record: FloatColumn


@compiled()
def _learn_until(
    now: float,
    kind: IntColumn,
    finish: FloatColumn,
    turn: IntColumn,
    gpu_type: IntColumn,
    ratios: FloatColumn,
    told: FloatColumn,
    heap: IntColumn,
    counts: IntColumn,
    place: IntColumn,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
    record: FloatColumn,
) -> None:
    """Learn from every task that has finished by now, in order of finish and decision."""
    while counts[OPEN] > 0 and finish[heap[0]] <= now:
        row = pop_row(heap, counts[OPEN], finish, turn)
        counts[OPEN] -= 1
        if place[kind[row]] < 0 and (ratios[row, 0] > 0.0 or ratios[row, 1] > 0.0):
            place[kind[row]] = counts[KNOWN]  # a kind gets its row when the first task of it has finished
            counts[KNOWN] += 1
        counts[DRIFTS] += learn_parts(
            place[kind[row]],
            gpu_type[row],
            ratios[row, 0],
            ratios[row, 1],
            told[row, 0],
            told[row, 1],
            cells,
            types,
            shared,
            prior,
            record[kind[row]],
        )


@compiled(inline="always")
def _write(out: Outcomes, row: int, fraction: float, gpu: int, status: int, placed: Placement) -> None:
    """Write down what became of one task; one that failed has no finish."""
    cpu_start, gpu_start, finish, cpu_s, gpu_s, _, _ = placed
    out.gpu_fraction[row] = fraction
    out.gpu[row] = gpu if gpu_s > 0.0 else NO_GPU
    out.cpu_start_s[row] = cpu_start
    out.gpu_start_s[row] = gpu_start
    out.finish_s[row] = finish if status < FAILED else math.nan
    out.cpu_s[row] = cpu_s
    out.gpu_s[row] = gpu_s
    out.status[row] = status


@compiled(inline="always")
def _wanted(rule: Rule, row: int, terms: Terms, cpu_backlog: float, backlog: FloatColumn) -> tuple[float, int]:
    """The share and the GPU that the rule gives to a task."""
    if rule.form == PRESCRIBED:
        wanted, gpu = rule.fractions[row], rule.gpus[row] if rule.gpus.shape[0] > 0 else NO_GPU
    elif rule.form == FASTEST_SPLIT:
        wanted, gpu = fastest_split(terms, backlog, rule.grid[0])
    else:
        wanted, gpu = least_charge(terms, cpu_backlog, backlog, rule.grid[0], rule.price[0])
    return wanted, gpu if gpu >= 0 else least_backlog(backlog)


@compiled()
def run_onward(
    rule: Rule,
    arrival: FloatColumn,
    tasks: BatchTerms,
    factors: Factors,
    lessons: Lessons | None,
    queues: Queues,
    free: FloatColumn,
    books: FloatColumn | None,
    decided: int,
    out: Outcomes,
) -> None:
    """Decide and place tasks as they arrive; `decided` tasks came before them. Queues, lessons and `free` move on.

    With `books` backlogs are what these say: when devices would be free by what is believed. They move on as well.
    Without `lessons` or `books` nothing of them is compiled: whether they are there is known from their types.
    """
    heads, tails, chain, table = queues
    cpu_factor, gpu_factor = factors
    gpu_kind, serial = tasks.gpu_kind, tasks.serial
    backlog = np.empty(gpu_kind.shape[0])
    if lessons is not None:
        kind, finish, turn, gpu_type, ratios, told, heap, counts, place, cells, types, shared, prior, record = lessons
        factor, on_gpu, paged = (
            np.ones(types.shape[0]),
            np.empty(tasks.gpu_s.shape[1]),
            np.empty(tasks.paged_s.shape[1]),
        )
    for row in range(arrival.shape[0]):
        now = arrival[row]
        if lessons is not None:
            _learn_until(
                now, kind, finish, turn, gpu_type, ratios, told, heap, counts, place, cells, types, shared, prior,
                record,
            )  # fmt: skip
        cpu_end = estimated_end(0, now, heads, tails, chain, table)
        for gpu in range(backlog.shape[0]):
            backlog[gpu] = estimated_end(gpu + 1, now, heads, tails, chain, table) - now
        cpu_backlog = cpu_end - now
        if books is not None:
            cpu_backlog = max(0.0, books[0] - now)
            for gpu in range(backlog.shape[0]):
                backlog[gpu] = max(0.0, books[gpu + 1] - now)
        nominal = row_terms(tasks, row)
        terms = nominal
        if lessons is not None:
            where = place[kind[row]] if place[kind[row]] >= 0 else counts[KNOWN]
            believe(where, cells, types, shared, prior, factor, nominal[1], nominal[2], on_gpu, paged)
            terms = (
                nominal[0] * factor[0], on_gpu, paged, gpu_kind, nominal[4], nominal[5], nominal[6], serial,
            )  # fmt: skip
        wanted, gpu = _wanted(rule, row, terms, cpu_backlog, backlog)
        fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
        cpu_true, gpu_true = cpu_part, gpu_part
        if lessons is not None:
            _, cpu_true, gpu_true, _ = split_on(gpu, wanted, nominal)
        slower = gpu_factor[row, gpu_kind[gpu]]
        placed = place_parts(now, gpu, cpu_true, gpu_true, cpu_factor[row], slower, serial, free)
        if books is not None:
            place_parts(now, gpu, cpu_part, gpu_part, 1.0, 1.0, serial, books)
        if lessons is not None and status < FAILED:
            ratios[row, 0] = placed[3] / cpu_true if cpu_true > 0.0 else 0.0
            ratios[row, 1] = placed[4] / gpu_true if gpu_true > 0.0 else 0.0
            finish[row], turn[row] = placed[2], decided + row + 1
            gpu_type[row] = 1 + gpu_kind[gpu] if gpu_true > 0.0 else 0
            told[row, 0], told[row, 1] = factor[0], factor[gpu_type[row]]
            counts[OPEN] = push_row(heap, counts[OPEN], row, finish, turn)
        if cpu_part > 0.0:
            append_part(0, 2 * row, now, placed[0], placed[5], cpu_part, 0.0, heads, tails, chain, table)
        if gpu_part > 0.0:
            after = cpu_end + cpu_part if serial and cpu_part > 0.0 else 0.0
            append_part(gpu + 1, 2 * row + 1, now, placed[1], placed[6], gpu_part, after, heads, tails, chain, table)
        _write(out, row, fraction, gpu, status, placed)
