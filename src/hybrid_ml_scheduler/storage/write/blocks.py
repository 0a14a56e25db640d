"""Many rows as columns: tasks that were taken together, their labels and what came of them.

A row as an object costs more to make, to collect and to send than all that is known about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, device_name
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow, TrainingRow

__all__ = ["FACTS", "NUMBERS", "ResultColumns", "TaskBlock"]

FACTS = (
    "size", "compute_intensity", "memory_required", "arrival_time", "optimal_gpu_fraction", "optimal_time",
)  # fmt: skip
NUMBERS = (
    "gpu_fraction", "actual_time", "latency", "wait", "energy_consumption", "execution_cost", "ready_time",
    "start_time", "finish_time", "cpu_part", "gpu_part", "cpu_start", "gpu_start",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResultColumns:
    """Results with one strategy; `numbers` has a line for each of `NUMBERS`, NaN where a row has no such value."""

    gpu_id: npt.NDArray[np.int32]
    out_of_memory: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]
    numbers: FloatColumn

    def number(self, name: str) -> FloatColumn:
        """Return the column of one of `NUMBERS`."""
        column: FloatColumn = self.numbers[NUMBERS.index(name)]
        return column

    def rows(self, task_ids: Sequence[int], scheduler_name: str) -> list[ResultRow]:
        """Return the results one by one."""
        numbers = {name: _values(column) for name, column in zip(NUMBERS, self.numbers, strict=True)}
        gpus = self.gpu_id.tolist()
        known: dict[str, Any] = {
            **numbers,
            "task_id": task_ids,
            "scheduler_name": repeat(scheduler_name),
            "device": map(device_name, gpus, numbers["gpu_fraction"]),
            "gpu_id": gpus,
            "out_of_memory": self.out_of_memory.tolist(),
            "failed": self.failed.tolist(),
        }
        return list(map(ResultRow, *(known[name] for name in ResultRow._fields)))

    @classmethod
    def join(cls, parts: Sequence[ResultColumns]) -> ResultColumns:
        """Return the results of several blocks, one after the other."""
        return cls(
            gpu_id=np.concatenate([part.gpu_id for part in parts]),
            out_of_memory=np.concatenate([part.out_of_memory for part in parts]),
            failed=np.concatenate([part.failed for part in parts]),
            numbers=np.concatenate([part.numbers for part in parts], axis=1),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskBlock:
    """Plain tasks of one run: no parents, no deadline, divisible, one GPU.

    `facts` has a line for each of `FACTS`, `results` columns for each strategy; without `kind` all have none.
    """

    run_id: int
    task_id: IntColumn
    facts: FloatColumn
    results: Mapping[str, ResultColumns]
    kind: Sequence[str] = ()

    @property
    def row_count(self) -> int:
        """How many rows of all tables this is."""
        return len(self.task_id) * (2 + len(self.results))

    def fact(self, name: str) -> FloatColumn:
        """Return the column of one of `FACTS`."""
        column: FloatColumn = self.facts[FACTS.index(name)]
        return column

    def task_rows(self) -> list[TaskRow]:
        """Return the tasks one by one."""
        columns = (self.fact(name).tolist() for name in TaskRow._fields if name in FACTS)
        return list(map(TaskRow, self.task_id.tolist(), repeat(self.run_id), *columns, repeat("[]"), self.kinds()))

    def kinds(self) -> Sequence[str]:
        """Return the kind of every task."""
        return self.kind or [""] * len(self.task_id)

    def training_rows(self) -> list[TrainingRow]:
        """Return the labels one by one."""
        columns = (self.fact(name).tolist() for name in TrainingRow._fields if name in FACTS)
        return list(map(TrainingRow, self.task_id.tolist(), *columns))

    def result_rows(self) -> list[ResultRow]:
        """Return the results one by one."""
        ids = self.task_id.tolist()
        return [row for name, columns in self.results.items() for row in columns.rows(ids, name)]

    @classmethod
    def join(cls, blocks: Sequence[TaskBlock]) -> list[TaskBlock]:
        """Return the same rows in as few blocks as there are runs and sets of strategies."""
        alike: dict[tuple[int, tuple[str, ...]], list[TaskBlock]] = {}
        for block in blocks:
            alike.setdefault((block.run_id, tuple(block.results)), []).append(block)
        return [_one(run_id, names, some) for (run_id, names), some in alike.items()]


def _one(run_id: int, names: Sequence[str], blocks: Sequence[TaskBlock]) -> TaskBlock:
    if len(blocks) == 1:
        return blocks[0]
    return TaskBlock(
        run_id=run_id,
        task_id=np.concatenate([block.task_id for block in blocks]),
        facts=np.concatenate([block.facts for block in blocks], axis=1),
        results={name: ResultColumns.join([block.results[name] for block in blocks]) for name in names},
        kind=[kind for block in blocks for kind in block.kinds()],
    )


def _values(column: FloatColumn) -> list[Any]:
    """Return a column as a list; not-a-number becomes `None`, which both databases know."""
    values = column.tolist()
    return [None if value != value else value for value in values] if np.isnan(column).any() else values
