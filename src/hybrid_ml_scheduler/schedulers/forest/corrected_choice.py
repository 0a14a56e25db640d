"""One decision of `hybrid_ml` as one compiled call: correct what is believed, count what is ahead, and choose."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn
from hybrid_ml_scheduler.core.terms import Formula, Terms
from hybrid_ml_scheduler.learning.belief import believe_seconds
from hybrid_ml_scheduler.learning.time_forest import WalkedForest, correct
from hybrid_ml_scheduler.physics.formulas import plain_seconds
from hybrid_ml_scheduler.physics.held_choices import fastest_s, plan_split
from hybrid_ml_scheduler.physics.node import WHOLE
from hybrid_ml_scheduler.schedulers.forest.rehearsal import FUTURE, UNIT, led_choice
from hybrid_ml_scheduler.schedulers.holding.overruns import expect_overruns, note_due

__all__ = [
    "Choice",
    "Traits",
    "corrected_choice",
    "corrected_size",
    "formula_plan",
    "held_plan",
    "with_seconds",
]

# Size, intensity and memory of a task, its memory rule, where the duration model looks its kind up, and its kind.
Traits = tuple[float, float, float, int, int, int]
# The share, the GPU, by how much both parts differ from what the cluster promises, and what the rehearsal will need.
Choice = tuple[float, int, float, float, float, float]


@compiled(nogil=True, inline="always")
def with_seconds(believed: Terms, seconds: FloatColumn) -> Terms:
    """Terms with other seconds: the CPU's, those of the types of GPU, then the same paged if anything pages."""
    types = 1 + believed[1].shape[0]
    return (
        seconds[0], seconds[1:types], seconds[types:], believed[3], believed[4], believed[5], believed[6], believed[7]
    )  # fmt: skip


@compiled(nogil=True, inline="always")
def corrected_size(
    believed: Terms, size: float, intensity: float, kind: int, forest: WalkedForest, seconds: FloatColumn
) -> float:
    """Leave the corrected seconds in `seconds`; returns those of the task at its fastest."""
    types = 1 + believed[1].shape[0]
    seconds[0] = believed[0]
    seconds[1:types] = believed[1]
    seconds[types:] = believed[2]
    if forest[0] != 0.0:
        correct(size, intensity, believed[4], kind, forest, seconds, types)
    return fastest_s(seconds[0], seconds[1:types], believed[6] < WHOLE)


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


@compiled(nogil=True)
def corrected_choice(
    now: float,
    believed: Terms,
    size: float,
    intensity: float,
    kind: int,
    forest: WalkedForest,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    ahead: FloatColumn,
    grid: FloatColumn,
    whole: FloatColumn,
    weights: FloatColumn,
    state: FloatColumn,
    seconds: FloatColumn,
) -> Choice:
    """Decide one task; `ahead` sums up by how much corrected and promised seconds differ, device by device.

    The corrected seconds are left in `seconds`, the backlogs that were decided with in `gpu_backlog`.
    """
    corrected_size(believed, size, intensity, kind, forest, seconds)
    for gpu in range(gpu_backlog.shape[0]):
        gpu_backlog[gpu] = max(gpu_backlog[gpu] + ahead[1 + gpu], 0.0)
    fraction, gpu = led_choice(
        now, with_seconds(believed, seconds), max(0.0, cpu_backlog + ahead[0]), gpu_backlog, grid, whole, weights, state
    )
    place = believed[3][gpu]
    on_cpu = (1.0 - fraction) * (seconds[0] - believed[0])
    on_gpu = fraction * (seconds[1 + place] - believed[1][place])
    ahead[0] += on_cpu
    ahead[1 + gpu] += on_gpu
    return fraction, gpu, on_cpu, on_gpu, state[0, UNIT], state[0, FUTURE]
