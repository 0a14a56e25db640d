"""The compiled form of the cluster for task graphs and for durations that differ from the estimates.

A task's finish is known to the simulation when it is placed, so a child's ready time is known when its last
parent is placed, and one heap by (ready time, id) orders all decisions. Strategies still see estimates only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster.kernel import FASTEST_SPLIT, PRESCRIBED, RuleTerms, Shared, Written, write
from hybrid_ml_scheduler.cluster.lessons import Beliefs, believe, learn_until
from hybrid_ml_scheduler.cluster.parts import append_part, empty_queues, estimated_end
from hybrid_ml_scheduler.cluster.ready import pop_ready, push_ready
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, NO_GPU, PARENT_FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.choices import fastest_split, least_backlog, least_charge, split_on
from hybrid_ml_scheduler.physics.durations import Durations
from hybrid_ml_scheduler.physics.gangs import gang_backlogs, gang_members
from hybrid_ml_scheduler.physics.placement import first_slot, place_parts, place_shared

__all__ = ["Arrivals", "Factors", "first_ready", "no_factors", "run_general", "same_factors"]


class Arrivals(NamedTuple):
    """When tasks come and what waits for them: `open_parents` of each row (used up), and its children, flat."""

    identity: IntColumn
    arrival: FloatColumn
    open_parents: IntColumn
    child_offsets: IntColumn
    child_rows: IntColumn


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


@compiled()
def first_ready(
    arrival: FloatColumn, open_parents: IntColumn, identity: IntColumn, ready: FloatColumn, heap: IntColumn
) -> int:
    """Queue the tasks that wait for nobody; returns how many they are."""
    length = 0
    for row in range(arrival.shape[0]):
        ready[row] = arrival[row]
        if open_parents[row] == 0:
            length = push_ready(heap, length, row, ready, identity)
    return length


@compiled()
def run_general(
    rule: RuleTerms,
    arrivals: Arrivals,
    tasks: BatchTerms,
    factors: Factors,
    beliefs: Beliefs | None,
    shared: Shared | None,
    noisy: bool,
    sees_ends: bool,
    ready: FloatColumn,
    out: Written,
) -> None:
    """Run a whole batch from an idle cluster; `ready` is filled with the moment each task may be decided.

    With `beliefs` the strategy decides by what it has learned, which is then never quite the truth (so `noisy`).
    A strategy that does not see parts end decides by its books: when devices would be free by what it believes.
    Without `beliefs` or `shared` nothing of them is compiled: whether they are there is known from their types.

    The loop is long because every part that was cut out of it cost 5 to 20 % of its speed. Each turn takes one task
    through seven steps, which the comments name: its turn, lessons, the look at the devices, the decision, the
    placement, what others will believe of it, and its children.
    """
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    kind, fractions, gpus, by_decision, grid, price = rule
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    identity, arrival, open_parents, child_offsets, child_rows = arrivals
    cpu_factor, gpu_factor = factors
    count, num_gpus = ready.shape[0], gpu_kind.shape[0]
    # The state of the devices: the CPU (or its slots, the first at 0 and the others behind the GPUs) and the GPUs from
    # 1 on. `free` is when each is free in truth, `books` by estimates alone, `believed` what the strategy is shown.
    devices, parts, slot = num_gpus + 1, 2 * count, 0
    if shared is not None:
        width, counts, gang, slots = shared
        devices, parts, used = num_gpus + slots, count + width.sum(), 0
        alone, room = np.empty(num_gpus), gpu_memory.copy()
    free, believed, backlog = np.zeros(devices), np.zeros(devices), np.zeros(num_gpus)
    books, noisy = np.zeros(devices), noisy and sees_ends
    heads, tails, chain, table = empty_queues(devices, parts if noisy else 0)
    # The state of the tasks: those that can be decided, a heap by (ready time, id), and those that a parent has doomed.
    doomed, heap, decided = np.zeros(count, np.bool_), np.empty(count, np.int64), 0
    # The state of the learner: `finishing` holds what it has not seen end yet, a heap by (finish, turn).
    if beliefs is not None:
        task_kind, cells, types, common, prior = beliefs
        told, running, turns = np.ones(types.shape[0]), 0, np.empty(count, np.int64)
        finishing, gpu_type = np.empty_like(turns), np.empty_like(turns)
        finish, ratios = np.empty(count), np.zeros((count, 2))
        believed_gpu, believed_paged = np.empty(gpu_s.shape[1]), np.empty(paged_s.shape[1])
    length = first_ready(arrival, open_parents, identity, ready, heap)
    while length > 0:
        # 1. Whose turn it is. Of a task whose parent failed, only this is written.
        row = pop_ready(heap, length, ready, identity)
        length -= 1
        now = ready[row]
        fraction, gpu, cpu_part, gpu_part, status = 0.0, NO_GPU, 0.0, 0.0, PARENT_FAILED
        cpu_true, gpu_true, cpu_end = 0.0, 0.0, now
        # 2. What has ended by now teaches before anything is decided.
        if beliefs is not None:
            running = learn_until(
                now, finishing, running, finish, turns, task_kind, ratios, gpu_type, cells, types, common, prior
            )
        if not doomed[row]:
            # 3. What the strategy is shown: when each device will be free, and what the task would take there.
            # Without noise a device is believed to be free when it is free, and no queue need be walked.
            for device in range(devices):
                if noisy:
                    end = estimated_end(device, now, heads, tails, chain, table)
                else:
                    end = max(free[device] if sees_ends else books[device], now)
                believed[device] = end
                if 0 < device <= num_gpus:
                    backlog[device - 1] = end - now
            cpu_end = believed[0]
            if shared is not None:
                slot = first_slot(num_gpus, free)
                cpu_end = believed[first_slot(num_gpus, believed)]
                room[:], alone[:] = gpu_memory, backlog
                if width[row] > 1:  # to a gang, a GPU is as busy as the busiest of those it would take with it
                    gang_backlogs(width[row], gpu_kind, counts, gpu_memory, alone, backlog, room)
                nominal = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], room, memory_rule[row], serial)
            else:
                nominal = (
                    cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial
                )  # fmt: skip
            terms = nominal
            if beliefs is not None:
                believe(
                    task_kind[row], cells, types, common, prior, told, gpu_s[row], paged_s[row], believed_gpu,
                    believed_paged,
                )  # fmt: skip
                seconds = cpu_s[row] * told[0]
                terms = (
                    seconds,
                    believed_gpu,
                    believed_paged,
                    gpu_kind,
                    memory[row],
                    nominal[5],
                    memory_rule[row],
                    serial,
                )
            # 4. The decision, and the two parts it makes: in seconds that are believed, and in those that are true.
            turn = decided if by_decision else row
            decided += 1
            if kind == PRESCRIBED:
                wanted, gpu = fractions[turn], gpus[turn] if gpus.shape[0] > 0 else NO_GPU
            elif kind == FASTEST_SPLIT:
                wanted, gpu = fastest_split(terms, backlog, grid)
            else:
                wanted, gpu = least_charge(terms, cpu_end - now, backlog, grid, price)
            if gpu < 0:
                gpu = least_backlog(backlog)
            fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
            cpu_true, gpu_true = cpu_part, gpu_part
            if beliefs is not None:
                _, cpu_true, gpu_true, _ = split_on(gpu, wanted, nominal)
        # 5. The placement, in truth; and in the books of a strategy that sees nothing end.
        slower = gpu_factor[row, gpu_kind[gpu]]
        part = 2 * row
        if shared is not None:
            part, used = used, used + 1 + width[row]
            if width[row] > 1 and gpu_part > 0.0:
                gang_members(gpu, width[row], gpu_kind, counts, alone, gang[row])
            others = gang[row]
            placed = place_shared(
                now, slot, gpu, others, cpu_true, gpu_true, cpu_factor[row], slower, serial, free
            )  # fmt: skip
            if not sees_ends:
                booked = first_slot(num_gpus, books)
                place_shared(now, booked, gpu, others, cpu_part, gpu_part, 1.0, 1.0, serial, books)
        else:
            placed = place_parts(now, gpu, cpu_true, gpu_true, cpu_factor[row], slower, serial, free)
            if not sees_ends:
                place_parts(now, gpu, cpu_part, gpu_part, 1.0, 1.0, serial, books)
        # 6. What others will believe of it: the lesson it gives when it ends, and its parts in the queues of devices.
        if beliefs is not None and status < FAILED:
            ratios[row, 0] = placed[3] / cpu_true if cpu_true > 0.0 else 0.0
            ratios[row, 1] = placed[4] / gpu_true if gpu_true > 0.0 else 0.0
            finish[row], turns[row], gpu_type[row] = placed[2], decided, 1 + gpu_kind[gpu]
            running = push_ready(finishing, running, row, finish, turns)
        if noisy and cpu_part > 0.0:
            append_part(slot, part, now, placed[0], placed[5], cpu_part, 0.0, heads, tails, chain, table)
        if noisy and gpu_part > 0.0:
            after = cpu_end + cpu_part if serial and cpu_part > 0.0 else 0.0
            if shared is not None and width[row] > 1:
                after = believed[gpu + 1]  # all GPUs of a gang start when the last of them is believed to be free
                for one in others[: width[row] - 1]:
                    after = max(after, believed[one + 1])
                for one in others[: width[row] - 1]:
                    part += 1
                    append_part(one + 1, part, now, placed[1], placed[6], gpu_part, after, heads, tails, chain, table)
            append_part(gpu + 1, part + 1, now, placed[1], placed[6], gpu_part, after, heads, tails, chain, table)
        # 7. The columns, and the children: ready when their last parent ends, doomed with any that fails.
        write(out, row, fraction, gpu, status, placed)
        for place in range(child_offsets[row], child_offsets[row + 1]):
            child = child_rows[place]
            ready[child] = max(ready[child], placed[2])
            doomed[child] = doomed[child] or status >= FAILED
            open_parents[child] -= 1
            if open_parents[child] == 0:
                length = push_ready(heap, length, child, ready, identity)
