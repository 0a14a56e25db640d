"""A task may run on GPUs only, or on the CPU only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step; a stored task that needs no GPU runs on the CPU, every other one anywhere."""
    op.add_column("tasks", sa.Column("runs_on", sa.String(8), nullable=False, server_default="any"))
    op.execute("UPDATE tasks SET runs_on = 'cpu' WHERE gpus_required = 0")


def downgrade() -> None:
    """Take it back."""
    op.drop_column("tasks", "runs_on")
