"""The running totals of one strategy in constant memory: over the run, since the last shift, over the latest tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core import NO_GPU, FloatColumn, IntColumn, Outcome, Task
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.ranges import BUCKETS, LEAST, STEP, packed_counts, percentile_of, unpacked_counts
from hybrid_ml_scheduler.live.windows import LATEST, Span
from hybrid_ml_scheduler.physics import Tariff
from hybrid_ml_scheduler.physics.optimum import SHORTEST_S, bounded_slowdown

__all__ = ["Measure", "Tallied", "Tally", "Unfinished", "bucket_of"]

# What is kept of a finished task, in this order; all but the last are summed, and of the finish the last one counts.
_VALUES = (
    "time_s", "latency_s", "wait_s", "energy_j", "cost_usd", "cpu_s", "gpu_s", "gpu_fraction", "slowdown", "finish_s",
)  # fmt: skip
_LATENCY, _SLOWDOWN, _FINISH = 1, 8, 9
_WORST = 10  # behind the sums: the longest slowdown
_ON_CPU, _ON_GPU, _ON_BOTH, _NOWHERE = 0, 1, 2, 3
_TASKS, _OUT_OF_MEMORY, _ROUNDED, _DUE, _IN_TIME = 4, 5, 6, 7, 8
_COUNTS = 9
_TAIL = (95.0, 99.9, 100.0)  # the percentiles of latency that are told
# The bits of a mark.
_UNFITTING, _WHOLE, _HAS_DEADLINE, _KEPT_IT = 1, 2, 4, 8

_MOST_DUE = 256

Places = npt.NDArray[np.int8]


class Measure(NamedTuple):
    """What the outcome of a task is held against: its least seconds for a slowdown, and its deadline (NaN = none)."""

    arrival_s: float
    least_s: float
    deadline_s: float = math.nan

    @classmethod
    def of(cls, task: Task, fastest_s: float) -> Measure:
        """That of a task which takes so long at its fastest."""
        deadline_s = math.nan if task.deadline is None else task.deadline
        return cls(task.arrival_time, max(fastest_s, SHORTEST_S), deadline_s)


class Unfinished(NamedTuple):
    """The tasks of one window that a strategy has not finished, and how long the compared ones have waited."""

    waiting: int
    failed_ahead: int
    compared: int
    waited_s: float
    longest_s: float


class _Row(NamedTuple):
    """One outcome on its way into the totals; rows are in order of their tasks."""

    task_id: int
    place: int
    mark: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """What one strategy did with the tasks of one window."""

    tasks: int
    failed: int
    out_of_memory: int
    rounded: int
    due: int
    in_time: int
    cpu: int
    gpu: int
    split: int
    time_s: float
    latency_s: float
    wait_s: float
    energy_j: float
    cost_usd: float
    cpu_s: float
    gpu_s: float
    gpu_fraction: float
    slowdown: float
    finish_s: float
    p95_latency_s: float | None
    p99_9_latency_s: float | None
    longest_latency_s: float | None
    longest_slowdown: float | None

    @property
    def within_deadline(self) -> float | None:
        """The share of the tasks with a deadline that kept it; a failed one has not."""
        return self.in_time / self.due if self.due else None

    def mean(self, total: float) -> float | None:
        """Return a total per finished task."""
        return total / self.tasks if self.tasks else None


@compiled()
def bucket_of(value: float) -> int:
    """Return the range that a number falls into; the first and the last have no end."""
    if not value > LEAST:
        return 0
    return min(BUCKETS - 1, int(math.log(value / LEAST) / STEP))


@compiled()
def _add(values: FloatColumn, place: int, mark: int, sums: FloatColumn, counts: IntColumn, sketch: IntColumn) -> None:
    """Add one outcome to the totals; a failed one counts as failed, and late if it had a deadline."""
    counts[place] += 1
    counts[_OUT_OF_MEMORY] += mark & _UNFITTING
    counts[_ROUNDED] += (mark & _WHOLE) // _WHOLE
    counts[_DUE] += (mark & _HAS_DEADLINE) // _HAS_DEADLINE
    counts[_IN_TIME] += (mark & _KEPT_IT) // _KEPT_IT
    if place == _NOWHERE:
        return
    counts[_TASKS] += 1
    for column in range(_FINISH):
        sums[column] += values[column]
    sums[_FINISH] = max(sums[_FINISH], values[_FINISH])
    sums[_WORST] = max(sums[_WORST], values[_SLOWDOWN])
    sketch[bucket_of(values[_LATENCY])] += 1


@compiled()
def _add_all(
    task_id: IntColumn,
    rows: npt.NDArray[np.float64],
    place: Places,
    mark: Places,
    run: tuple[FloatColumn, IntColumn, IntColumn],
    shift: tuple[FloatColumn, IntColumn, IntColumn],
    shift_task: int,
    latest: tuple[IntColumn, npt.NDArray[np.float64], Places, Places],
) -> None:
    """Add outcomes one by one: each to the run, and where its task belongs there, to the other windows."""
    ids, values, places, marks = latest
    for row in range(len(task_id)):
        _add(rows[row], place[row], mark[row], run[0], run[1], run[2])
        if task_id[row] >= shift_task:
            _add(rows[row], place[row], mark[row], shift[0], shift[1], shift[2])
        slot = task_id[row] % len(ids)
        if ids[slot] < task_id[row]:  # else the outcome came so late that a newer task has taken its place
            ids[slot], places[slot], marks[slot] = task_id[row], place[row], mark[row]
            values[slot] = rows[row]


class Totals:
    """Sums over outcomes, and the distribution of their latencies."""

    __slots__ = ("counts", "sketch", "sums")

    def __init__(self) -> None:
        self.sums = np.zeros(len(_VALUES) + 1)
        self.counts = np.zeros(_COUNTS, dtype=np.int64)
        self.sketch = np.zeros(BUCKETS, dtype=np.int64)

    @property
    def arrays(self) -> tuple[FloatColumn, IntColumn, IntColumn]:
        """What the compiled sums are kept in."""
        return self.sums, self.counts, self.sketch

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        return {"sums": self.sums.copy(), "counts": self.counts.copy(), "sketch": packed_counts(self.sketch)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self.sums, self.counts = state["sums"].copy(), state["counts"].copy()
        self.sketch = unpacked_counts(state["sketch"])


class Tally:
    """One strategy's totals in every window over the compared tasks; outcomes of later tasks are kept until then.

    The totals do not depend on when they are asked for: outcomes are added in the order of their tasks, and those of
    tasks that were compared before they finished in the order in which they come.
    """

    __slots__ = (
        "_ahead", "_compared", "_done", "_due", "_ids", "_last", "_marks", "_measures", "_places", "_run", "_shift",
        "_shift_task", "_values",
    )  # fmt: skip

    def __init__(self, before: int = -1) -> None:
        self._run, self._shift, self._shift_task = Totals(), Totals(), np.iinfo(np.int64).max
        self._measures: dict[int, Measure] = {}  # of the tasks that have no outcome yet, in their order
        self._compared = self._done = self._last = before
        self._ahead: list[_Row] = []  # a heap: outcomes of tasks that are not compared yet
        self._due: list[_Row] = []  # outcomes of compared tasks that are not in the totals yet
        self._ids = np.full(LATEST, -1, dtype=np.int64)
        self._values = np.zeros((LATEST, len(_VALUES)))
        self._places = np.zeros(LATEST, dtype=np.int8)
        self._marks = np.zeros(LATEST, dtype=np.int8)

    def shift(self, task_id: int) -> None:
        """Begin the window since the last shift again: its first task is this one."""
        self._sum_up()
        self._shift, self._shift_task = Totals(), task_id

    def expect(self, task_id: int, measure: Measure) -> None:
        """Say what the outcome of a task will be held against; it may come much later."""
        self._measures[task_id] = measure
        self._last = task_id

    @property
    def done_up_to(self) -> int:
        """The last task up to which all have an outcome."""
        while self._done < self._last and self._done + 1 not in self._measures:
            self._done += 1
        return self._done

    def compare(self, up_to: int) -> None:
        """Let the comparison end at this task."""
        self._compared = up_to

    def add(self, outcome: Outcome) -> None:
        """Count one outcome of a task that was expected."""
        (
            task_id, gpu_fraction, gpu, arrival_s, ready_s, _, _, finish_s,
            execution_s, cpu_s, gpu_s, energy_j, cost_usd, out_of_memory, failed, rounded, _,
        ) = outcome  # fmt: skip
        measure = self._measures.pop(task_id)
        values = (
            execution_s, finish_s - arrival_s, finish_s - ready_s - execution_s, energy_j, cost_usd,
            cpu_s, gpu_s, gpu_fraction, (finish_s - arrival_s) / measure.least_s, finish_s,
        )  # fmt: skip
        place = _NOWHERE if failed else _ON_CPU if gpu == NO_GPU else _ON_BOTH if cpu_s > 0.0 else _ON_GPU
        mark = _UNFITTING * out_of_memory + _WHOLE * rounded
        if not math.isnan(measure.deadline_s):  # a task that failed has no latency, which keeps no deadline
            mark += _HAS_DEADLINE + _KEPT_IT * (finish_s - arrival_s <= measure.deadline_s)
        row = _Row(task_id, place, mark, values)
        if task_id > self._compared:
            heappush(self._ahead, row)
            return
        self._collect()
        self._due.append(row)

    def _collect(self) -> None:
        """Move the outcomes that are compared by now to those that are due."""
        ahead, due, compared = self._ahead, self._due, self._compared
        while ahead and ahead[0].task_id <= compared:
            due.append(heappop(ahead))
        if len(due) >= _MOST_DUE:
            self._add_due()

    def _sum_up(self) -> None:
        self._collect()
        if self._due:
            self._add_due()

    def _add_due(self) -> None:
        task_id, place, mark, values = zip(*self._due, strict=True)
        self._due = []
        places, marks = np.array(place, np.int8), np.array(mark, np.int8)
        self._add(np.array(task_id, np.int64), np.array(values, np.float64), places, marks)

    def add_all(self, task_id: IntColumn, columns: RunColumns, tariff: Tariff, fastest_s: FloatColumn) -> None:
        """Count outcomes of tasks without a deadline; the sums are those of counting one by one, to the last bit.

        No strategy has let a task wait before them, so that they are compared at once.
        """
        self._sum_up()
        self._compared = self._done = self._last = int(task_id[-1])
        energy, cost = columns.charges(tariff)
        rows = np.empty((len(columns), len(_VALUES)))
        parts = (
            columns.execution_s, columns.latency_s, columns.wait_s, energy, cost,
            columns.cpu_s, columns.gpu_s, columns.gpu_fraction, bounded_slowdown(columns.latency_s, fastest_s),
            columns.finish_s,
        )  # fmt: skip
        for column, values in enumerate(parts):
            rows[:, column] = values
        where = [columns.failed, columns.gpu == NO_GPU, columns.cpu_s > 0.0]
        place = np.select(where, [_NOWHERE, _ON_CPU, _ON_BOTH], _ON_GPU).astype(np.int8)
        mark = _UNFITTING * columns.out_of_memory + _WHOLE * columns.rounded
        self._add(task_id, rows, place, mark.astype(np.int8))

    def _add(self, task_id: IntColumn, rows: npt.NDArray[np.float64], place: Places, mark: Places) -> None:
        latest = self._ids, self._values, self._places, self._marks
        _add_all(task_id, rows, place, mark, self._run.arrays, self._shift.arrays, self._shift_task, latest)

    def over(self, span: Span) -> Tallied:
        """Return the totals of a window's compared tasks; percentiles of many are within half a per cent."""
        self._sum_up()
        inside = (self._ids >= span.first_task) & (self._ids <= span.compared_task)
        finished = inside & (self._places != _NOWHERE)
        totals = self._run if span.name == "run" else self._shift
        known = self._values[finished, _LATENCY]
        if span.compared > LATEST:
            tail = [percentile_of(totals.sketch, percent) for percent in _TAIL]
        else:
            tail = np.percentile(known, _TAIL).tolist() if len(known) else [None] * len(_TAIL)
        if span.name == "latest":
            return _tallied(*self._summed(inside, finished), tail)
        return _tallied(totals.sums, totals.counts, tail)

    def _summed(self, inside: npt.NDArray[np.bool_], finished: npt.NDArray[np.bool_]) -> tuple[FloatColumn, IntColumn]:
        counts, marks = np.bincount(self._places[inside], minlength=_COUNTS), self._marks[inside]
        counts[_TASKS], counts[_OUT_OF_MEMORY] = finished.sum(), np.count_nonzero(marks & _UNFITTING)
        for count, bit in ((_ROUNDED, _WHOLE), (_DUE, _HAS_DEADLINE), (_IN_TIME, _KEPT_IT)):
            counts[count] = np.count_nonzero(marks & bit)
        known = self._values[finished]
        sums = np.append(known.sum(axis=0), known[:, _SLOWDOWN].max(initial=0.0))
        sums[_FINISH] = known[:, _FINISH].max(initial=0.0)
        return sums, counts

    def lacks(self, span: Span) -> Unfinished:
        """Return what a window lacks: tasks that wait, and how long the compared ones of them have."""
        waiting = compared = 0
        waited_s = longest_s = 0.0
        for task_id in reversed(self._measures):
            if task_id < span.first_task:
                break
            waiting += 1
            if task_id <= span.compared_task:
                so_far_s = max(0.0, span.end_s - self._measures[task_id].arrival_s)
                compared, waited_s, longest_s = compared + 1, waited_s + so_far_s, max(longest_s, so_far_s)
        ahead = sum(row.place == _NOWHERE and row.task_id >= span.first_task for row in self._ahead)
        return Unfinished(waiting, ahead, compared, waited_s, longest_s)

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        self._sum_up()
        latest = {name: getattr(self, name).copy() for name in ("_ids", "_values", "_places", "_marks")}
        totals = {"run": self._run.capture(), "shift": self._shift.capture(), "shift_task": self._shift_task}
        ahead = {"ahead": sorted(self._ahead), "compared": self._compared, "done": self.done_up_to, "last": self._last}
        return {**totals, **ahead, "latest": latest, "measures": dict(self._measures)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._run.restore(state["run"])
        self._shift.restore(state["shift"])
        self._shift_task, self._measures = state["shift_task"], dict(state["measures"])
        self._ahead, self._compared = list(state["ahead"]), state["compared"]
        self._done, self._last = state["done"], state["last"]
        for name, column in state["latest"].items():
            setattr(self, name, column.copy())


def _tallied(sums: FloatColumn, counts: IntColumn, tail: Sequence[float | None]) -> Tallied:
    cpu, gpu, split, failed, tasks, out_of_memory, rounded, due, in_time = counts.tolist()
    *totals, worst = sums.tolist()
    return Tallied(
        tasks=tasks,
        failed=failed,
        out_of_memory=out_of_memory,
        rounded=rounded,
        due=due,
        in_time=in_time,
        cpu=cpu,
        gpu=gpu,
        split=split,
        p95_latency_s=tail[0],
        p99_9_latency_s=tail[1],
        longest_latency_s=tail[2],
        longest_slowdown=worst if tasks else None,
        **dict(zip(_VALUES, totals, strict=True)),
    )
