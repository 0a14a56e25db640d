"""Stretches of a run on all devices together: most questions to the ledger name no device."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ADDED = (
    "results", "failed", "out_of_memory", "sum_gpu_fraction", "sum_actual_time", "sum_latency", "sum_wait",
    "sum_energy_consumption", "sum_execution_cost", "sum_cpu_part", "sum_gpu_part",
)  # fmt: skip
_SPANNED = (
    "gpu_fraction", "size", "compute_intensity", "memory_required", "arrival_time",
    "actual_time", "latency", "wait", "energy_consumption", "execution_cost",
)  # fmt: skip


def upgrade() -> None:
    """Take the step: the lines of a stretch's devices are put together once."""
    least = ("first_task", *(f"low_{name}" for name in _SPANNED))
    most = ("last_task", "last_finish", *(f"high_{name}" for name in _SPANNED))
    made = {
        **{name: f"sum({name})" for name in _ADDED},
        **{name: f"min({name})" for name in least},
        **{name: f"max({name})" for name in most},
    }
    columns = ", ".join(("run_id", "scheduler_name", "device", "stretch", *made))
    values = ", ".join(("run_id", "scheduler_name", "''", "stretch", *made.values()))
    together = f"SELECT {values} FROM stretches GROUP BY run_id, scheduler_name, stretch"
    op.execute(sa.text(f"INSERT INTO stretches ({columns}) {together}"))


def downgrade() -> None:
    """Take it back."""
    op.execute(sa.text("DELETE FROM stretches WHERE device = ''"))
