"""The state of a run: plain arrays with names, which compiled functions hand to each other whole.

Numbers that change stand in arrays too (`clock`, `counts`), because a named tuple cannot be changed. Functions over the
state are compiled with `allocates=False`, so that handing it on costs nothing.

Devices are numbered: 0 is the CPU, 1 to G the GPUs, and the further slots of the CPU come behind them. A task of row r
has the part 2r on the CPU and 2r + 1 on its GPU; a gang has further parts behind those of all tasks.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn

__all__ = [
    "AT_ONCE",
    "BEHIND",
    "DECIDED",
    "DONE",
    "FASTEST_SPLIT",
    "FRONT",
    "GPU",
    "IDLE",
    "LEAST_CHARGE",
    "MEAN_S",
    "MEAN_WAIT_S",
    "NEXT_ARRIVAL",
    "NOW",
    "OLDEST",
    "ORDERED",
    "OVERDUE",
    "PLACE",
    "PLANNED",
    "PRESCRIBED",
    "PULLED",
    "READY",
    "SEEN",
    "SHARE",
    "STAGE",
    "STARTED",
    "TRIED",
    "TURN",
    "WAITING",
    "Beliefs",
    "Devices",
    "Outcomes",
    "Progress",
    "Queues",
    "Rule",
    "Scratch",
    "State",
    "Tasks",
    "Waiting",
]

FloatTable = Annotated[npt.NDArray[np.float64], 2]
FloatCube = Annotated[npt.NDArray[np.float64], 3]
IntTable = Annotated[npt.NDArray[np.int64], 2]

# How a strategy decides (`Rule.form`): at once by one of three rules, or from a wait queue.
PRESCRIBED, FASTEST_SPLIT, LEAST_CHARGE, ORDERED, PULLED, PLANNED = range(6)
AT_ONCE = LEAST_CHARGE

# Places in `Progress.counts`: the next row to arrive, rows in the heap of ready tasks, decisions taken, tasks that are
# placed or written off; and of the wait queue: in front, behind, overdue, all that wait, seen, the oldest not checked
# for being overdue, started, the stage in force. Then of the wake: the place in front and the device that come next,
# how many tasks have planned, how many devices are idle; and the GPU of the decision that is to be committed.
NEXT_ARRIVAL, READY, DECIDED, DONE, FRONT, BEHIND, OVERDUE, WAITING, SEEN, OLDEST, STARTED, STAGE = range(12)
PLACE, TURN, TRIED, IDLE, GPU = range(12, 17)
COUNTS = 17
# Places in `Progress.clock`: the moment, the running means of what tasks take and of how long they waited, and the
# share of the decision that is to be committed.
NOW, MEAN_S, MEAN_WAIT_S, SHARE = range(4)
CLOCK = 4


class Tasks(NamedTuple):
    """What is known of every task, a row each, in order of arrival and then id.

    `cpu_s`, `gpu_s` (a column for each kind of GPU) and `paged_s` are estimated seconds; the factors say how many times
    as long a task really takes.
    """

    identity: IntColumn
    arrival_s: FloatColumn
    parents: IntColumn
    child_offsets: IntColumn
    child_rows: IntColumn
    width: IntColumn
    gang_offsets: IntColumn
    kind: IntColumn
    cpu_s: FloatColumn
    gpu_s: FloatTable
    paged_s: FloatTable
    memory_mb: FloatColumn
    memory_rule: IntColumn
    cpu_factor: FloatColumn
    gpu_factor: FloatTable


class Devices(NamedTuple):
    """The node: the kind and memory of each GPU, how many there are of each kind, and the slots of the CPU."""

    gpu_kind: IntColumn
    kind_counts: IntColumn
    gpu_memory_mb: FloatColumn
    node: IntColumn
    slots: int
    serial: bool


class Rule(NamedTuple):
    """A strategy as numbers: its form, and the parameters that the form reads (others are empty).

    At once: `fractions` and `gpus` by row, or by decision; `grid` and `price` of the first stage.
    From the wait queue: `orders` (a row each; `which` says by which a stage goes), `size_s`, and by stage from which
    ready task on (`first`), `grid`, `price`, `longest`, `pull` and `pick`. A plan has `fractions`, `gpus` and for each
    row the next row on its CPU and on its GPU (`following`).
    """

    form: int
    by_decision: bool
    depth: int
    aging: float
    fractions: FloatColumn
    gpus: IntColumn
    orders: FloatTable
    size_s: FloatColumn
    first: IntColumn
    grid: FloatTable
    price: FloatColumn
    longest: FloatTable
    which: IntColumn
    pull: FloatTable
    pick: IntColumn
    following: IntTable


class Beliefs(NamedTuple):
    """The state of a duration model (`learning.belief`); without rows where nothing is learned."""

    cells: FloatCube
    types: FloatTable
    shared: FloatColumn
    prior: FloatColumn


class Queues(NamedTuple):
    """What stands on each device, first in, first out.

    Of a device: its first and last part (-1: none), when the part that runs ends (infinite: none runs), whether one
    runs, when it is free of everything promised to it, and the same as a strategy reckons that sees no part end.
    Of a part: the next one, its true and its estimated seconds, when it started (infinite: not yet), the estimated
    moment before which it cannot start, the end it was promised, and, of the further parts of a gang, the row.
    """

    head: IntColumn
    tail: IntColumn
    end_s: FloatColumn
    is_running: BoolColumn
    free_s: FloatColumn
    books_s: FloatColumn
    following: IntColumn
    true_s: FloatColumn
    estimate_s: FloatColumn
    start_s: FloatColumn
    not_before_s: FloatColumn
    promised_s: FloatColumn
    gang_row: IntColumn


class Waiting(NamedTuple):
    """The wait queue: the first few rows stand sorted in `front`, all others in heaps behind.

    `order` is what rows are sorted by; overdue rows stand before all others. `came` are the rows in the order in which
    they became ready, `since_s` when that was, `gone` who was started, `whole_s` the seconds on every device where
    the strategy compares these, `pull_keys` how much each wants the row. A pulling strategy has a heap for each device.
    """

    front: IntColumn
    behind: IntColumn
    order: FloatColumn
    came: IntColumn
    since_s: FloatColumn
    gone: BoolColumn
    planned: BoolColumn
    whole_s: FloatTable
    pull_keys: FloatTable
    heaps: IntTable
    heap_lengths: IntColumn
    next_on_device: IntColumn
    stack: IntColumn


class Outcomes(NamedTuple):
    """What became of every task; the names are those of `RunColumns`."""

    gpu_fraction: FloatColumn
    gpu: npt.NDArray[np.int32]
    ready_s: FloatColumn
    cpu_start_s: FloatColumn
    gpu_start_s: FloatColumn
    finish_s: FloatColumn
    cpu_s: FloatColumn
    gpu_s: FloatColumn
    status: npt.NDArray[np.int8]
    gang: Annotated[npt.NDArray[np.int32], 2]


class Progress(NamedTuple):
    """How far the run is: of each task its open parents and parts, its turn and what it will teach; and the numbers."""

    clock: FloatColumn
    counts: IntColumn
    ready_heap: IntColumn
    open_parents: IntColumn
    is_doomed: BoolColumn
    turn: IntColumn
    open_parts: npt.NDArray[np.int32]
    cpu_is_open: BoolColumn
    ratios: FloatTable


class Scratch(NamedTuple):
    """Room for what a decision computes: by device, by GPU, by type of device."""

    backlog: FloatColumn
    idle: BoolColumn
    longest_s: FloatColumn
    alone: FloatColumn
    leads: FloatColumn
    room_mb: FloatColumn
    told: FloatColumn
    believed_gpu: FloatColumn
    believed_paged: FloatColumn


class State(NamedTuple):
    """Everything about one run. What a run does not use is empty, and its flag is False."""

    tasks: Tasks
    devices: Devices
    rule: Rule
    beliefs: Beliefs
    queues: Queues
    waiting: Waiting
    out: Outcomes
    progress: Progress
    scratch: Scratch
    noisy: bool
    sees_ends: bool
    learns: bool
    has_gangs: bool
