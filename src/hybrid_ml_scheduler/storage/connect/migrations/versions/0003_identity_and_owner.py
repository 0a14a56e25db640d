"""A database knows who it is, and which service may write to it."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    for name in ("identity", "owner"):
        op.add_column("totals", sa.Column(name, sa.String(32), nullable=False, server_default=""))
    op.execute(sa.text("UPDATE totals SET identity = :name").bindparams(name=uuid.uuid4().hex))


def downgrade() -> None:
    """Go back."""
    for name in ("identity", "owner"):
        op.drop_column("totals", name)
