"""The decision of `hybrid_ml` for a task that comes while nothing waits: estimated, corrected and planned in one call.

That is the way of most tasks, so what compiled code is told lies ready in columns, and what it answers is taken apart
no further than is needed.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, FloatColumn, Task
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.holding import HeldView
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.terms import Formula, Terms
from hybrid_ml_scheduler.learning.belief import believe_seconds
from hybrid_ml_scheduler.learning.time_forest import WalkedForest
from hybrid_ml_scheduler.physics.formulas import plain_seconds
from hybrid_ml_scheduler.physics.held_choices import plan_split
from hybrid_ml_scheduler.physics.node import WHOLE
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import Expected, corrected_size, with_seconds
from hybrid_ml_scheduler.schedulers.grid import task_terms
from hybrid_ml_scheduler.schedulers.holding.overruns import expect_overruns, note_due

__all__ = ["DeviceColumns", "PlanColumns", "plan_plain_task", "plan_task"]

# Size, intensity and memory of a task, its memory rule, where the duration model looks its kind up, and its kind.
Traits = tuple[float, float, float, int, int, int]
# The forest; backlogs and who is idle; the grid, the price, the longest parts, and when devices are due.
PlanColumns = tuple[WalkedForest, FloatColumn, BoolColumn, FloatColumn, float, FloatColumn, FloatColumn]
_NO_PAGED = np.empty(0)


@compiled(nogil=True, inline="always")
def held_plan(
    now: float,
    believed: Terms,
    size: float,
    intensity: float,
    kind: int,
    seconds: FloatColumn,
    forest: WalkedForest,
    backlog: FloatColumn,
    idle: BoolColumn,
    grid: FloatColumn,
    price: float,
    longest_s: FloatColumn,
    due_s: FloatColumn,
) -> tuple[float, float, int, bool]:
    """Correct what is believed of one task and plan it: its size, the share, the GPU, and whether it starts at once."""
    size_s = corrected_size(believed, size, intensity, kind, forest, seconds)
    expect_overruns(now, backlog, idle, due_s)
    before = backlog.copy()
    fraction, gpu, starts = plan_split(with_seconds(believed, seconds), backlog, idle, grid, price, longest_s)
    if starts:
        note_due(now, before, backlog, due_s)
    return size_s, fraction, gpu, starts


@compiled(nogil=True)
def formula_plan(
    now: float,
    traits: Traits,
    formula: Formula,
    gpu_s: FloatColumn,
    seconds: FloatColumn,
    forest: WalkedForest,
    backlog: FloatColumn,
    idle: BoolColumn,
    grid: FloatColumn,
    price: float,
    longest_s: FloatColumn,
    due_s: FloatColumn,
) -> tuple[float, float, float, int, bool]:
    """`held_plan` of a task without times of its own, which also believes its seconds: the CPU's are returned first.

    Those of the types of GPU are left in `gpu_s`; the columns of the formula are filled.
    """
    size, intensity, memory_mb, memory_rule, place, kind = traits
    gpu_kind, gpu_memory_mb, _, serial, law, most, cpu_speed, gpus = formula[:8]
    cells, types, shared, prior, factors, found = formula[8:]
    plain_seconds(size, intensity, memory_mb, law, most, cpu_speed, gpus, found[0])
    believe_seconds(place, cells, types, shared, prior, factors, found)
    count = gpu_s.shape[0]
    for one in range(count):
        gpu_s[one] = found[1, 1 + one]
    believed = found[1, 0], gpu_s, gpu_s[count:], gpu_kind, memory_mb, gpu_memory_mb, memory_rule, serial
    size_s, fraction, gpu, starts = held_plan(
        now, believed, size, intensity, kind, seconds, forest, backlog, idle, grid, price, longest_s, due_s
    )
    return believed[0], size_s, fraction, gpu, starts


class DeviceColumns:
    """How long every device is busy and whether it is idle, the CPU first, in columns that are filled again and again.

    Both lie in one piece of memory that is written at once: making two new columns takes four times as long.
    """

    def __init__(self, devices: int) -> None:
        layout = Struct(f"{devices}d{devices}?")
        self._pack, self._memory = layout.pack_into, bytearray(layout.size)
        self.backlog_s = np.frombuffer(self._memory, np.float64, devices)
        self.idle = np.frombuffer(self._memory, np.bool_, devices, 8 * devices)

    def fill(self, cluster: HeldView) -> None:
        """Write down how the devices stand now."""
        self._pack(self._memory, 0, cluster.cpu_backlog_s, *cluster.gpu_backlogs_s, *cluster.idle)


def plan_task(task: Task, cluster: ClusterView, kind: int, columns: PlanColumns) -> tuple[Expected, bool]:
    """What is thought of a task with times of its own, and whether it starts."""
    believed, now_s = task_terms(task, cluster), cluster.now_s
    seconds = np.empty(1 + len(believed[1]) + len(believed[2]))
    size_s, fraction, gpu, starts = held_plan(
        now_s, believed, task.size, task.compute_intensity, kind, seconds, *columns
    )
    return Expected(now_s, believed, seconds, task.divisible, fraction, gpu, size_s), starts


def plan_plain_task(
    task: Task, now_s: float, formula: Formula, place: int, kind: int, columns: PlanColumns
) -> tuple[Expected, bool]:
    """The same of one without, whose seconds are believed in the same call."""
    gpu_kind, gpu_memory_mb, rule, serial = formula[:4]
    divisible, memory_mb = task.divisible, task.memory_required
    if not divisible:
        rule += WHOLE
    gpu_s, seconds = np.empty(len(formula[7])), np.empty(1 + len(formula[7]))
    traits = task.size, task.compute_intensity, memory_mb, rule, place, kind
    cpu_s, size_s, fraction, gpu, starts = formula_plan(now_s, traits, formula, gpu_s, seconds, *columns)
    believed = cpu_s, gpu_s, _NO_PAGED, gpu_kind, memory_mb, gpu_memory_mb, rule, serial
    return Expected(now_s, believed, seconds, divisible, fraction, gpu, size_s), starts
