"""Runs have names and notes, and are summed up with their rows: as a whole and stretch by stretch."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_STRETCH_TASKS = 500
_COUNTS = ("results", "failed", "out_of_memory", "first_task", "last_task")
_SUMS = (
    "gpu_fraction", "actual_time", "latency", "wait", "energy_consumption", "execution_cost", "cpu_part", "gpu_part",
)  # fmt: skip
_OF_TASKS = ("size", "compute_intensity", "memory_required", "arrival_time")
_OF_RESULTS = ("gpu_fraction", "actual_time", "latency", "wait", "energy_consumption", "execution_cost")
_SPANNED = ("gpu_fraction", *_OF_TASKS, *_OF_RESULTS[1:])


def upgrade() -> None:
    """Take the step; a history that is there is summed up once."""
    op.add_column("runs", sa.Column("name", sa.String(120), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("note", sa.Text(), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("first_task", sa.BigInteger()))
    _create("run_summaries", ())
    _create("stretches", (_word("device", 32), _whole("stretch")), spanned=True)
    op.create_table(
        "run_pictures",
        _whole("run_id"),
        sa.Column("picture", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_run_pictures_run_id_runs"),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_pictures"),
    )
    own = "(SELECT min(task_id) FROM tasks WHERE tasks.run_id = runs.run_id)"
    op.execute(sa.text(f"UPDATE runs SET first_task = {own}"))
    _sum_up("run_summaries", "t.run_id, r.scheduler_name", [])
    stretch = f"(r.task_id - runs.first_task) / {_STRETCH_TASKS}"
    _sum_up("stretches", f"t.run_id, r.scheduler_name, r.device, {stretch}", list(_SPANNED))


def downgrade() -> None:
    """Take it back."""
    for table in ("run_pictures", "stretches", "run_summaries"):
        op.drop_table(table)
    for name in ("first_task", "note", "name"):
        op.drop_column("runs", name)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, autoincrement=False)


def _word(name: str, length: int) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False)


def _create(table: str, keys: tuple[sa.Column[Any], ...], *, spanned: bool = False) -> None:
    names = ["run_id", "scheduler_name", *(str(column.name) for column in keys)]
    spans = [f"{end}_{name}" for end in ("low", "high") for name in _SPANNED] if spanned else []
    op.create_table(
        table,
        _whole("run_id"),
        _word("scheduler_name", 64),
        *keys,
        *(_whole(name) for name in _COUNTS),
        sa.Column("last_finish", sa.Double()),
        *(sa.Column(f"sum_{name}", sa.Double(), nullable=False) for name in _SUMS),
        *(sa.Column(name, sa.Double()) for name in spans),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=f"fk_{table}_run_id_runs"),
        sa.PrimaryKeyConstraint(*names, name=f"pk_{table}"),
    )


def _sum_up(table: str, keys: str, spanned: list[str]) -> None:
    """Fill a table of sums from the rows; a task that failed counts in no sum."""
    flag = "CASE WHEN {} THEN 1 ELSE 0 END"
    counts = [
        "count(*)",
        f"sum({flag.format('r.latency IS NULL')})",
        f"sum({flag.format('r.out_of_memory')})",
        "min(r.task_id)",
        "max(r.task_id)",
        "max(r.finish_time)",
    ]
    sums = [f"coalesce(sum(CASE WHEN r.latency IS NOT NULL THEN r.{name} END), 0)" for name in _SUMS]
    source = {name: f"t.{name}" if name in _OF_TASKS else f"r.{name}" for name in spanned}
    spans = [f"{end}({source[name]})" for end in ("min", "max") for name in spanned]
    joined = "scheduler_results r JOIN tasks t ON t.task_id = r.task_id JOIN runs ON runs.run_id = t.run_id"
    columns = ", ".join([keys, *counts, *sums, *spans])
    op.execute(sa.text(f"INSERT INTO {table} SELECT {columns} FROM {joined} GROUP BY {keys}"))
