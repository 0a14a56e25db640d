"""Plans for held tasks where some need several GPUs at once: a gang reserves them, and short tasks fill the gap.

Without gangs this is `plan_split`. A gang starts only when all its GPUs are idle. Until then it books those that will
be free first, so that it is not overtaken for ever; an idle one among them takes what ends before the gang can begin.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.gangs import gang_backlogs, gang_members
from hybrid_ml_scheduler.physics.held_choices import choose_split
from hybrid_ml_scheduler.physics.placement import Gang

__all__ = ["plan_beside_gangs"]


@compiled(nogil=True)
def plan_beside_gangs(
    terms: Terms,
    width: int,
    counts: IntColumn,
    backlog: FloatColumn,
    idle: npt.NDArray[np.bool_],
    gap_s: FloatColumn,
    grid: FloatColumn,
    price: float,
    longest_s: FloatColumn,
    fellows: Gang,
) -> tuple[float, int, bool]:
    """`plan_split` for a task of this width; `fellows` is filled with the further GPUs of a gang (-1: none).

    `gap_s` says how long an idle device is free before the gang that reserved it begins (infinite: not reserved).
    """
    devices = backlog.shape[0]
    free = backlog.copy()
    fellows[:] = -1
    if width > 1:
        room = np.empty(devices - 1)
        gang_backlogs(width, terms[3], counts, terms[5], backlog[1:], free[1:], room)
    else:
        for device in range(1, devices):
            if idle[device] and terms[1][terms[3][device - 1]] <= gap_s[device] < math.inf:
                free[device] = 0.0
    fraction, gpu = choose_split(terms, free, grid, price, longest_s)
    _, cpu_part, gpu_part, status = split_on(gpu, fraction, terms)
    starts = status == FAILED  # it fails at once
    if cpu_part > 0.0:
        starts = idle[0]
        idle[0] = False
        backlog[0] += cpu_part
    if gpu_part <= 0.0:
        return fraction, gpu, starts
    if width > 1:
        gang_members(gpu, width, terms[3], counts, backlog[1:], fellows)
        return fraction, gpu, _book(gpu, fellows, free[gpu + 1], gpu_part, backlog, idle, gap_s)
    reserved = gap_s[gpu + 1] < math.inf
    if idle[gpu + 1] and (not reserved or free[gpu + 1] == 0.0):
        starts = True
        idle[gpu + 1] = False
        if reserved:
            return fraction, gpu, starts  # the gang behind it keeps its time
    begin = max(free[gpu + 1], backlog[0]) if terms[7] and cpu_part > 0.0 else free[gpu + 1]
    backlog[gpu + 1] = begin + gpu_part
    return fraction, gpu, starts


@compiled(nogil=True)
def _book(
    lead: int,
    fellows: Gang,
    begin_s: float,
    gpu_part: float,
    backlog: FloatColumn,
    idle: npt.NDArray[np.bool_],
    gap_s: FloatColumn,
) -> bool:
    """Book the GPUs of a gang; says whether all of them are idle, so that it starts."""
    starts = idle[lead + 1] and math.isinf(gap_s[lead + 1])
    for one in fellows:
        starts = starts and (one < 0 or (idle[one + 1] and math.isinf(gap_s[one + 1])))
    for place in range(fellows.shape[0] + 1):
        gpu = lead if place == 0 else fellows[place - 1]
        if gpu < 0:
            continue
        if starts:
            idle[gpu + 1] = False
        else:
            gap_s[gpu + 1] = min(gap_s[gpu + 1], begin_s)
        backlog[gpu + 1] = begin_s + gpu_part
    return starts
