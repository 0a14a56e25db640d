"""A task may have a deadline, may have to run whole, and may need several GPUs at once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step; the tasks that are stored get what a task is that says nothing of it."""
    op.add_column("tasks", sa.Column("deadline", sa.Double))
    op.add_column("tasks", sa.Column("divisible", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("tasks", sa.Column("gpus_required", sa.Integer, nullable=False, server_default="1"))


def downgrade() -> None:
    """Take it back."""
    for column in ("gpus_required", "divisible", "deadline"):
        op.drop_column("tasks", column)
