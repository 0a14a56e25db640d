"""The tables, once for both databases; the migrations build the same ones (a test compares them).

Wall-clock moments are Unix seconds: SQLite has no time type, and both sides then agree to the last digit.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, String, Table, Text

from hybrid_ml_scheduler.storage.rows import (
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    ResultRow,
    TaskRow,
    TrainingRow,
)

__all__ = [
    "ANY_DEVICE",
    "ROW_TABLES",
    "checkpoints",
    "events",
    "metadata",
    "model_versions",
    "notifications",
    "rollups",
    "run_pictures",
    "run_summaries",
    "runs",
    "scheduler_results",
    "stretches",
    "tails",
    "tasks",
    "totals",
    "training_data",
]

NAME_LENGTH = 80  # a name of 64 letters, the mark and a level
KIND_LENGTH = 120
LABEL_LENGTH = 200
# SQLite counts up by itself only for a column declared exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("plan", sa.JSON, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("versions", sa.JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("controls", sa.JSON, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("name", String(120), nullable=False, server_default=""),
    Column("note", Text, nullable=False, server_default=""),
    Column("first_task", BigInteger),  # where its stretches are counted from; unknown until a task is stored
)

tasks = Table(
    "tasks",
    metadata,
    Column("task_id", _Id, primary_key=True, autoincrement=False),
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), nullable=False),
    Column("size", Double, nullable=False),
    Column("compute_intensity", Double, nullable=False),
    Column("memory_required", Double, nullable=False),
    Column("arrival_time", Double, nullable=False),
    Column("dependencies", sa.JSON, nullable=False),
    Column("kind", String(KIND_LENGTH), nullable=False, server_default=""),
    Column("deadline", Double),
    Column("divisible", Boolean, nullable=False, server_default=sa.true()),
    Column("gpus_required", Integer, nullable=False, server_default="1"),
    Column("runs_on", String(8), nullable=False, server_default="any"),
    Column("label", String(LABEL_LENGTH), nullable=False, server_default=""),
    Index(None, "run_id", "task_id"),
)

scheduler_results = Table(
    "scheduler_results",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("task_id", BigInteger, ForeignKey("tasks.task_id"), nullable=False),
    Column("scheduler_name", String(NAME_LENGTH), nullable=False),
    Column("gpu_fraction", Double, nullable=False),
    Column("device", String(32), nullable=False),
    Column("gpu_id", Integer, nullable=False),
    Column("actual_time", Double),
    Column("latency", Double),
    Column("wait", Double),
    Column("energy_consumption", Double),
    Column("execution_cost", Double),
    Column("ready_time", Double),
    Column("start_time", Double),
    Column("finish_time", Double),
    Column("cpu_part", Double),
    Column("gpu_part", Double),
    Column("cpu_start", Double),
    Column("gpu_start", Double),
    Column("out_of_memory", Boolean, nullable=False),
    Column("failed", Boolean, nullable=False),
    # Every query of the dashboard is a range of tasks: this one index serves them all.
    sa.UniqueConstraint("task_id", "scheduler_name"),
)

training_data = Table(
    "training_data",
    metadata,
    Column("task_id", _Id, ForeignKey("tasks.task_id"), primary_key=True, autoincrement=False),
    Column("size", Double, nullable=False),
    Column("compute_intensity", Double, nullable=False),
    Column("memory_required", Double, nullable=False),
    Column("optimal_gpu_fraction", Double, nullable=False),
    Column("optimal_time", Double, nullable=False),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("scheduler_name", String(NAME_LENGTH), primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("boundary", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False, index=True),
    Column("samples", Integer, nullable=False),
    Column("error", Double),
    Column("duration", Double, nullable=False),
    Column("digest", String(128), nullable=False),
    Column("outcome", String(16), nullable=False, server_default="activated"),
    Column("held_out_error", Double),
    Column("present_error", Double),
)

notifications = Table(
    "notifications",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("level", String(16), nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", Double, nullable=False, index=True),
)

events = Table(
    "events",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("boundary", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("payload", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("boundary", BigInteger, primary_key=True, autoincrement=False),
    Column("blob", sa.LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
)

# One line of running totals, kept in the same transaction as the rows: counting ten million rows is a full scan.
totals = Table(
    "totals",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("next_task_id", BigInteger, nullable=False),
    Column("floor_task_id", BigInteger, nullable=False),
    Column("tasks", BigInteger, nullable=False),
    Column("results", BigInteger, nullable=False),
    Column("training", BigInteger, nullable=False),
    Column("identity", String(32), nullable=False, server_default=""),
    Column("owner", String(32), nullable=False, server_default=""),  # the mark of the service that may write
)

# Sums over fixed ranges of tasks of one run: the long-term trend without reading the rows, even after they are gone.
rollups = Table(
    "rollups",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("bucket", BigInteger, primary_key=True, autoincrement=False),
    Column("scheduler_name", String(NAME_LENGTH), primary_key=True),
    Column("results", BigInteger, nullable=False),
    Column("finished", BigInteger, nullable=False),
    Column("last_arrival", Double, nullable=False),
    Column("actual_time", Double, nullable=False),
    Column("latency", Double, nullable=False),
    Column("wait", Double, nullable=False),
    Column("energy_consumption", Double, nullable=False),
    Column("execution_cost", Double, nullable=False),
)

# What all results of a run with one strategy, or those of a stretch on one device, add up to.
_SUMS = (
    "gpu_fraction", "actual_time", "latency", "wait", "energy_consumption", "execution_cost", "cpu_part", "gpu_part",
)  # fmt: skip
_SPANNED = (
    "gpu_fraction", "size", "compute_intensity", "memory_required", "arrival_time",
    "actual_time", "latency", "wait", "energy_consumption", "execution_cost",
)  # fmt: skip


def _totals_columns() -> list[Column[Any]]:
    counts = (Column(name, BigInteger, nullable=False) for name in ("results", "failed", "out_of_memory"))
    edges = (Column(name, BigInteger, nullable=False) for name in ("first_task", "last_task"))
    sums = (Column(f"sum_{name}", Double, nullable=False) for name in _SUMS)
    return [*counts, *edges, Column("last_finish", Double), *sums]


# A run at a glance, kept with its rows: comparing runs reads one line a strategy.
run_summaries = Table(
    "run_summaries",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("scheduler_name", String(NAME_LENGTH), primary_key=True),
    *_totals_columns(),
)

# Stretches of a run's tasks on one device with one strategy: how many rows there are, and between which values each
# column lies. The ledger counts with them, and reads only those stretches that can hold a row of the page. A line with
# no device (ANY_DEVICE) is of all of them together: most questions name none, and it is one line instead of nine.
ANY_DEVICE = ""
stretches = Table(
    "stretches",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("scheduler_name", String(NAME_LENGTH), primary_key=True),
    Column("device", String(32), primary_key=True),
    Column("stretch", BigInteger, primary_key=True, autoincrement=False),
    *_totals_columns(),
    *(Column(f"low_{name}", Double) for name in _SPANNED),
    *(Column(f"high_{name}", Double) for name in _SPANNED),
    Index(None, "run_id", "device", "stretch"),  # most questions name no strategy
)

# How the results of a stretch are spread, beside their sums: percentiles of a million tasks without their rows.
tails = Table(
    "tails",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("scheduler_name", String(NAME_LENGTH), primary_key=True),
    Column("stretch", BigInteger, primary_key=True, autoincrement=False),
    # Two bytes for each finished result: the range of its latency (`core.ranges`).
    Column("ranges", sa.LargeBinary, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in ("told", "due", "in_time")),
    Column("sum_slowdown", Double, nullable=False),
    Column("high_slowdown", Double),
)

# The last that was shown of a run, as it was shown.
run_pictures = Table(
    "run_pictures",
    metadata,
    Column("run_id", BigInteger, ForeignKey("runs.run_id"), primary_key=True),
    Column("picture", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

ROW_TABLES = {
    TaskRow: tasks,
    ResultRow: scheduler_results,
    TrainingRow: training_data,
    ModelRow: model_versions,
    NotificationRow: notifications,
    EventRow: events,
    CheckpointRow: checkpoints,
}
