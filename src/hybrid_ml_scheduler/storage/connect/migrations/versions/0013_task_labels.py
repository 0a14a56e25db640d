"""A task of a file keeps the id that the file gives it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step; of the tasks that are stored only their numbers are known."""
    op.add_column("tasks", sa.Column("label", sa.String(200), nullable=False, server_default=""))


def downgrade() -> None:
    """Take it back."""
    op.drop_column("tasks", "label")
