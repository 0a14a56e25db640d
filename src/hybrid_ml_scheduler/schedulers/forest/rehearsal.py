"""A rehearsal beside the race tells which way of placing tasks would have served the latest ones best.

Each way (earliest finish, earliest device, GPU only, two prices of device-seconds, the learned value of the queues)
places every task on a cluster of its own that exists in thought. It decides with what was believed of the task when
it came, and the task then takes what it really took. So a task is rehearsed when it has finished, in the order of the
real decisions. The mean latency of the latest tasks says which way is trusted with the next real one; another way
takes over only with a clear lead.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.physics.choices import least_backlog, least_charge, split_on
from hybrid_ml_scheduler.physics.placement import place_parts
from hybrid_ml_scheduler.schedulers.forest.queue_value import foresight, least_valued

__all__ = [
    "FUTURE",
    "LEADER",
    "LEAST_WORK_S",
    "UNIT",
    "WAYS",
    "fresh_rehearsal",
    "led_choice",
    "mean_latencies",
    "rehearse",
]

WAYS = ("earliest_finish", "frugal_finish", "half_price", "earliest_device", "gpu_only", "queue_value")
_FINISH, _FRUGAL, _HALF, _DEVICE, _GPU, _VALUE = range(len(WAYS))
_PRICES = np.array([0.0, 1.0, 0.3, 0.0])
# The first row of the state: who leads, tasks seen, last arrival, mean gap and work, tasks rehearsed, and what the
# latest decision was taken with; then one row a way: its score, when each device is free, and when it is believed to.
LEADER, SEEN, LAST, GAP, WORK, REHEARSED, UNIT, FUTURE = range(8)
_HEADER = 8
_SCORE = 0
MEMORY = 4000.0  # tasks over which latencies are compared: a calm of a thousand tasks says little about the next burst
PACE_MEMORY = 500.0  # tasks over which gaps and work are averaged
DOUBT = 20.0  # tasks that a load of one half counts for at the start
MOST_LOAD = 2.0
LEAD = 0.9  # of the leader's score, from which on another way takes over: it inherits queues that suit the leader
LEAST_SEEN = 10.0
FLOOD = 2.0  # mean tasks that wait on a device on average, from which on a beginner saves device-seconds
LEAST_WORK_S = 1e-12


def fresh_rehearsal(num_gpus: int) -> FloatColumn:
    """The state before the first task: all ways are equal, and the first of them leads."""
    return np.zeros((1 + len(WAYS), max(_HEADER, 1 + 2 * (num_gpus + 1))))


def mean_latencies(state: FloatColumn) -> dict[str, float]:
    """The mean latency of each way over the latest tasks, in thought."""
    seen = float(state[0, REHEARSED])
    weight = MEMORY * (1.0 - (1.0 - 1.0 / MEMORY) ** seen) if seen else 1.0
    return {way: float(state[1 + place, _SCORE]) / weight for place, way in enumerate(WAYS)}


@compiled(nogil=True)
def _choice(
    way: int,
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    whole: FloatColumn,
    unit_s: float,
    future: float,
    weights: FloatColumn,
) -> tuple[float, int]:
    """What one way would do behind these backlogs."""
    if way == _GPU:
        return 1.0, least_backlog(gpu_backlog)
    if way == _VALUE:
        return least_valued(terms, cpu_backlog, gpu_backlog, grid, unit_s, future, weights)
    return least_charge(terms, cpu_backlog, gpu_backlog, whole if way == _DEVICE else grid, _PRICES[way])


@compiled(nogil=True)
def _notice(now: float, work_s: float, devices: int, header: FloatColumn, weights: FloatColumn) -> None:
    """A task has come: note the mean work of a task, and how much the future counts at the present load."""
    seen = header[SEEN]
    if seen > 0.0:
        header[GAP] += max(1.0 / seen, 1.0 / PACE_MEMORY) * (now - header[LAST] - header[GAP])
    header[WORK] += max(1.0 / (seen + 1.0), 1.0 / PACE_MEMORY) * (work_s - header[WORK])
    header[LAST] = now
    header[SEEN] = seen + 1.0
    load = min(MOST_LOAD, header[WORK] / (header[GAP] * devices)) if header[GAP] > 0.0 else MOST_LOAD
    header[UNIT] = max(header[WORK], LEAST_WORK_S)
    header[FUTURE] = foresight((seen * load + DOUBT * 0.5) / (seen + DOUBT), weights)


@compiled(nogil=True)
def led_choice(
    now: float,
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    whole: FloatColumn,
    weights: FloatColumn,
    state: FloatColumn,
) -> tuple[float, int]:
    """Decide for the real cluster as the leading way would."""
    header = state[0]
    _notice(now, min(terms[0], terms[1].min()), gpu_backlog.shape[0] + 1, header, weights)
    way, unit_s, future = int(header[LEADER]), header[UNIT], header[FUTURE]
    if header[REHEARSED] < LEAST_SEEN:
        waiting = (cpu_backlog + gpu_backlog.sum()) / (gpu_backlog.shape[0] + 1)
        way = _FRUGAL if waiting > FLOOD * unit_s else _FINISH
    fraction, gpu = _choice(way, terms, cpu_backlog, gpu_backlog, grid, whole, unit_s, future, weights)
    return fraction, max(gpu, 0)


@compiled(nogil=True)
def rehearse(
    now: float,
    terms: Terms,
    ratios: FloatColumn,
    grid: FloatColumn,
    whole: FloatColumn,
    unit_s: float,
    future: float,
    weights: FloatColumn,
    state: FloatColumn,
    slots: float,
) -> None:
    """Let every way place a task that came at `now`; `ratios` (CPU first) are its real over its believed seconds.

    A CPU of several slots is free again after the slot's share of a part, which itself takes its full time.
    """
    gpu_kind, serial = terms[3], terms[7]
    gpus = gpu_kind.shape[0]
    backlog, keep = np.empty(gpus), 1.0 - 1.0 / MEMORY
    for way in range(len(WAYS)):
        row = state[1 + way]
        free, believed = row[1 : gpus + 2], row[gpus + 2 : 2 * gpus + 3]
        for device in range(gpus + 1):
            # A device that is idle is seen to be; one that should have been free by now is expected at any moment.
            believed[device] = max(believed[device], now) if free[device] > now else now
            if device > 0:
                backlog[device - 1] = believed[device] - now
        share, gpu = _choice(way, terms, believed[0] - now, backlog, grid, whole, unit_s, future, weights)
        gpu = max(gpu, 0)
        _, cpu_part, gpu_part, _ = split_on(gpu, share, terms)
        slower = ratios[1 + gpu_kind[gpu]]
        shared = cpu_part / slots
        place_parts(now, gpu, shared, gpu_part, 1.0, 1.0, serial, believed)
        placed = place_parts(now, gpu, shared, gpu_part, ratios[0], slower, serial, free)
        row[_SCORE] = keep * row[_SCORE] + (placed[2] - now) + (cpu_part - shared) * ratios[0]
    state[0, REHEARSED] += 1.0
    _elect(state, len(WAYS) if slots == 1.0 else _VALUE)


@compiled(nogil=True)
def _elect(state: FloatColumn, ways: int) -> None:
    """Let the way with the least latency lead from the next task on, if its lead is clear.

    Only the first `ways` stand for election: the value of the queues was learned where a CPU serves one part at a time.
    """
    if state[0, REHEARSED] < LEAST_SEEN:
        return
    leader = best = int(state[0, LEADER])
    for way in range(ways):
        if state[1 + way, _SCORE] < state[1 + best, _SCORE]:
            best = way
    if state[1 + best, _SCORE] < LEAD * state[1 + leader, _SCORE]:
        state[0, LEADER] = best
