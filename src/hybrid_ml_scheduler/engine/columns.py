"""The outcomes of a whole run as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import repeat

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.decisions import FAILED, FITTED, NO_GPU, NOT_FITTING, PARENT_FAILED, Outcome
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.physics.energy import Tariff
from hybrid_ml_scheduler.physics.node import CoExecution, Node

__all__ = ["RunColumns", "gang_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunColumns:
    """What one strategy did with a batch, row by row in the order of the batch.

    `status` is FITTED, NOT_FITTING (fell back to the CPU or paged), FAILED or PARENT_FAILED.
    Starts are NaN where a device is not used; times of failed tasks are NaN, their parts 0.
    `gang` holds the GPUs of a task besides `gpu` (-1: none), one column for each that the widest task needs; `rounded`
    says of whom a share was asked for that must not be cut.
    """

    node: Node
    arrival_s: FloatColumn
    gpu_fraction: FloatColumn
    gpu: npt.NDArray[np.int32]
    ready_s: FloatColumn
    cpu_start_s: FloatColumn
    gpu_start_s: FloatColumn
    finish_s: FloatColumn
    cpu_s: FloatColumn
    gpu_s: FloatColumn
    status: npt.NDArray[np.int8]
    gang: npt.NDArray[np.int32]
    rounded: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, batch: TaskBatch, node: Node) -> RunColumns:
        """Room for the outcomes of a batch."""
        count = len(batch)
        floats = ("gpu_fraction", "cpu_start_s", "gpu_start_s", "finish_s", "cpu_s", "gpu_s")
        ready = np.empty(count) if batch.has_dependencies else batch.arrival_time
        return cls(
            node=node,
            arrival_s=batch.arrival_time,
            ready_s=ready,
            gpu=np.empty(count, dtype=np.int32),
            status=np.empty(count, dtype=np.int8),
            gang=np.full((count, int(batch.gpus_required.max(initial=1)) - 1), NO_GPU, dtype=np.int32),
            rounded=np.zeros(count, dtype=np.bool_),
            **{name: np.empty(count) for name in floats},
        )

    @classmethod
    def from_outcomes(cls, batch: TaskBatch, node: Node, outcomes: Sequence[Outcome]) -> RunColumns:
        """Gather the outcomes of the stepping form, in whatever order they were decided."""
        columns = cls.empty(batch, node)
        rows = {identity: row for row, identity in enumerate(batch.task_id.tolist())}
        told = dict(zip(Outcome._fields, zip(*outcomes, strict=True), strict=True)) if outcomes else {}
        order = np.array([rows[identity] for identity in told.get("task_id", ())], dtype=np.int64)
        for name in ("gpu_fraction", "gpu", "cpu_start_s", "gpu_start_s", "finish_s", "cpu_s", "gpu_s", "rounded"):
            getattr(columns, name)[order] = told.get(name, ())
        if batch.has_dependencies:
            columns.ready_s[order] = told.get("ready_s", ())
        columns.status[order] = [_status(outcome) for outcome in outcomes]
        for row, outcome in zip(order.tolist(), outcomes, strict=True):
            if outcome.gang:
                columns.gang[row, : len(outcome.gang)] = outcome.gang
        return columns

    @classmethod
    def join(cls, parts: Sequence[RunColumns]) -> RunColumns:
        """Return what one strategy did with several batches, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(cls) if field.name not in ("node", "gang")]
        widest = max(part.gang.shape[1] for part in parts)
        gangs = [
            np.pad(part.gang, ((0, 0), (0, widest - part.gang.shape[1])), constant_values=NO_GPU) for part in parts
        ]
        return cls(
            node=parts[0].node,
            gang=np.concatenate(gangs),
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        )

    def __len__(self) -> int:
        return len(self.gpu_fraction)

    @property
    def completed(self) -> npt.NDArray[np.bool_]:
        """Which tasks have a finish."""
        return self.status < FAILED

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Which tasks have none."""
        return self.status >= FAILED

    @property
    def out_of_memory(self) -> npt.NDArray[np.bool_]:
        """Which tasks did not fit the GPU that was chosen for them."""
        return (self.status == NOT_FITTING) | (self.status == FAILED)

    @property
    def start_s(self) -> FloatColumn:
        """Start of the earlier part (NaN for failed tasks)."""
        return np.fmin(self.cpu_start_s, self.gpu_start_s)

    @property
    def execution_s(self) -> FloatColumn:
        """Execution time of every task on free devices (NaN for failed ones)."""
        serial = self.node.co_execution == CoExecution.SERIAL
        time = self.cpu_s + self.gpu_s if serial else np.maximum(self.cpu_s, self.gpu_s)
        return time if bool(self.completed.all()) else np.where(self.completed, time, np.nan)

    @property
    def latency_s(self) -> FloatColumn:
        """From arrival to finish."""
        return self.finish_s - self.arrival_s

    @property
    def wait_s(self) -> FloatColumn:
        """What the queues added."""
        return self.finish_s - self.ready_s - self.execution_s

    @property
    def energy_j(self) -> FloatColumn:
        """Joules of every task."""
        return self.charges(Tariff(self.node))[0]

    @property
    def cost_usd(self) -> FloatColumn:
        """Dollars of every task by the cost model in force."""
        return self.charges(Tariff(self.node))[1]

    def charges(self, tariff: Tariff) -> tuple[FloatColumn, FloatColumn]:
        """Joules and dollars of every task; `tariff` is the node's."""
        energy, rent, electricity = tariff.columns(self.cpu_s, self.gpu_s, self.gpu, self.gang)
        return energy, electricity if tariff.charges_electricity else rent

    def last(self) -> RunColumns:
        """Return the last row alone."""
        return self._part(slice(-1, None))

    def first(self, count: int) -> RunColumns:
        """Return the first rows alone, down to none."""
        return self._part(slice(count))

    def _part(self, rows: slice) -> RunColumns:
        columns = {field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "node"}
        return RunColumns(node=self.node, **columns)

    def busy_s(self) -> FloatColumn:
        """Busy seconds of every device, the CPU first; those of a CPU with several slots are the mean of its slots."""
        busy = np.zeros(self.node.num_gpus + 1)
        busy[0] = self.cpu_s.sum() / self.node.cpu.slots
        for gpus in (self.gpu, *self.gang.T):
            used = gpus >= 0
            busy[1:] += np.bincount(gpus[used], weights=self.gpu_s[used], minlength=self.node.num_gpus)
        return busy

    def parts(self, row: int) -> list[tuple[str, float, float]]:
        """The (device, start, finish) intervals of one task."""
        if self.status[row] >= FAILED:
            return []
        intervals = []
        if self.cpu_s[row] > 0.0:
            start = float(self.cpu_start_s[row])
            intervals.append(("cpu", start, start + float(self.cpu_s[row])))
        if self.gpu_s[row] > 0.0:
            start = float(self.gpu_start_s[row])
            end = start + float(self.gpu_s[row])
            intervals += [(f"gpu_{gpu}", start, end) for gpu in (int(self.gpu[row]), *gang_of(self.gang[row]))]
        return intervals

    def outcomes(self, task_ids: IntColumn, tariff: Tariff) -> list[Outcome]:
        """All rows as outcomes; `tariff` is the node's."""
        columns = (
            task_ids, self.gpu_fraction, self.gpu, self.arrival_s, self.ready_s, self.cpu_start_s, self.gpu_start_s,
            self.finish_s, self.execution_s, self.cpu_s, self.gpu_s, *self.charges(tariff),
            self.out_of_memory, self.failed, self.rounded,
        )  # fmt: skip
        gangs = map(gang_of, self.gang) if self.gang.size else repeat((), len(self))
        return list(map(Outcome, *(column.tolist() for column in columns), gangs))


def gang_of(row: npt.NDArray[np.int32]) -> tuple[int, ...]:
    """The GPUs of one row of `gang`."""
    return tuple(gpu for gpu in row.tolist() if gpu != NO_GPU)


def _status(outcome: Outcome) -> int:
    if outcome.failed:
        return FAILED if outcome.out_of_memory else PARENT_FAILED
    return NOT_FITTING if outcome.out_of_memory else FITTED
