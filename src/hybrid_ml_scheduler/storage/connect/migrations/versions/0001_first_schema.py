"""The first schema: runs, tasks, results, labels, models, notifications, events, checkpoints, totals and rollups."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NEWEST_FIRST = ("notifications", "training_data", "scheduler_results", "rollups", "checkpoints", "events")


def upgrade() -> None:
    """Take the step."""
    _create_runs()
    _create_tasks()
    _create_results()
    _create_training_data()
    _create_model_versions()
    _create_notifications()
    _create_events_and_checkpoints()
    _create_sums()
    op.execute(sa.text("INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0)"))


def downgrade() -> None:
    """Take it back."""
    for table in (*_NEWEST_FIRST, "model_versions", "tasks", "totals", "runs"):
        op.drop_table(table)


def _run_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=f"fk_{table}_run_id_runs")


def _task_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=f"fk_{table}_task_id_tasks")


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, autoincrement=False)


def _number(name: str, *, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=nullable)


def _json(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.JSON(), nullable=False)


def _word(name: str, length: int) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False)


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", _ID, nullable=False),
        _json("plan"),
        _whole("seed"),
        _json("versions"),
        _word("state", 16),
        _json("controls"),
        _number("created_at"),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )


def _create_tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("task_id", _ID, nullable=False, autoincrement=False),
        _whole("run_id"),
        _number("size"),
        _number("compute_intensity"),
        _number("memory_required"),
        _number("arrival_time"),
        _json("dependencies"),
        _run_key("tasks"),
        sa.PrimaryKeyConstraint("task_id", name="pk_tasks"),
    )
    op.create_index("ix_tasks_run_id_task_id", "tasks", ["run_id", "task_id"])


def _create_results() -> None:
    measured = ("actual_time", "latency", "wait", "energy_consumption", "execution_cost")
    moments = ("ready_time", "start_time", "finish_time", "cpu_part", "gpu_part", "cpu_start", "gpu_start")
    op.create_table(
        "scheduler_results",
        sa.Column("id", _ID, nullable=False),
        _whole("task_id"),
        _word("scheduler_name", 64),
        _number("gpu_fraction"),
        _word("device", 32),
        sa.Column("gpu_id", sa.Integer(), nullable=False),
        *(_number(name, nullable=True) for name in measured + moments),
        sa.Column("out_of_memory", sa.Boolean(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        _task_key("scheduler_results"),
        sa.PrimaryKeyConstraint("id", name="pk_scheduler_results"),
        sa.UniqueConstraint("task_id", "scheduler_name", name="uq_scheduler_results_task_id_scheduler_name"),
    )


def _create_training_data() -> None:
    op.create_table(
        "training_data",
        sa.Column("task_id", _ID, nullable=False, autoincrement=False),
        _number("size"),
        _number("compute_intensity"),
        _number("memory_required"),
        _number("optimal_gpu_fraction"),
        _number("optimal_time"),
        _task_key("training_data"),
        sa.PrimaryKeyConstraint("task_id", name="pk_training_data"),
    )


def _create_model_versions() -> None:
    op.create_table(
        "model_versions",
        _whole("run_id"),
        _word("scheduler_name", 64),
        _whole("version"),
        _whole("boundary"),
        _number("created_at"),
        sa.Column("samples", sa.Integer(), nullable=False),
        _number("error", nullable=True),
        _number("duration"),
        _word("digest", 128),
        _run_key("model_versions"),
        sa.PrimaryKeyConstraint("run_id", "scheduler_name", "version", name="pk_model_versions"),
    )
    op.create_index("ix_model_versions_created_at", "model_versions", ["created_at"])


def _create_notifications() -> None:
    op.create_table(
        "notifications",
        _whole("run_id"),
        _word("key", 128),
        _word("level", 16),
        sa.Column("message", sa.Text(), nullable=False),
        _number("created_at"),
        _run_key("notifications"),
        sa.PrimaryKeyConstraint("run_id", "key", name="pk_notifications"),
    )
    op.create_index("ix_notifications_created_at", "notifications", ["created_at"])


def _create_events_and_checkpoints() -> None:
    op.create_table(
        "events",
        _whole("run_id"),
        _whole("sequence"),
        _whole("boundary"),
        _word("kind", 32),
        sa.Column("payload", sa.Text(), nullable=False),
        _number("created_at"),
        _run_key("events"),
        sa.PrimaryKeyConstraint("run_id", "sequence", name="pk_events"),
    )
    op.create_table(
        "checkpoints",
        _whole("run_id"),
        _whole("boundary"),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        _number("created_at"),
        _run_key("checkpoints"),
        sa.PrimaryKeyConstraint("run_id", "boundary", name="pk_checkpoints"),
    )


def _create_sums() -> None:
    counts = ("next_task_id", "floor_task_id", "tasks", "results", "training")
    op.create_table(
        "totals",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        *(_whole(name) for name in counts),
        sa.PrimaryKeyConstraint("id", name="pk_totals"),
    )
    sums = ("last_arrival", "actual_time", "latency", "wait", "energy_consumption", "execution_cost")
    op.create_table(
        "rollups",
        _whole("run_id"),
        _whole("bucket"),
        _word("scheduler_name", 64),
        _whole("results"),
        _whole("finished"),
        *(_number(name) for name in sums),
        _run_key("rollups"),
        sa.PrimaryKeyConstraint("run_id", "bucket", "scheduler_name", name="pk_rollups"),
    )
