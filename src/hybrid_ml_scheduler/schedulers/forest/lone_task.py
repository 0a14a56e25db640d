"""The decision of `hybrid_ml` for a task that comes while nothing is held: believed, corrected and planned in one call.

That is the way of most tasks, so what compiled code is told lies ready in columns, and what it answers is taken apart
no further than is needed.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, FloatColumn, Task
from hybrid_ml_scheduler.core.holding import HeldView
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.terms import Formula
from hybrid_ml_scheduler.learning.time_forest import WalkedForest
from hybrid_ml_scheduler.physics.node import WHOLE
from hybrid_ml_scheduler.schedulers.forest.corrected_choice import formula_plan, held_plan
from hybrid_ml_scheduler.schedulers.forest.time_lessons import Expected
from hybrid_ml_scheduler.schedulers.grid import task_terms

__all__ = ["DeviceColumns", "PlanColumns", "plan_plain_task", "plan_task"]

# The forest; backlogs and who is idle; the grid, the price, the longest parts, and when devices are due.
PlanColumns = tuple[WalkedForest, FloatColumn, BoolColumn, FloatColumn, float, FloatColumn, FloatColumn]
_NO_PAGED = np.empty(0)


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
    return Expected(now_s, believed, seconds, task.divisible, fraction, gpu, 0.0, 0.0, size_s, 0.0), starts


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
    return Expected(now_s, believed, seconds, divisible, fraction, gpu, 0.0, 0.0, size_s, 0.0), starts
