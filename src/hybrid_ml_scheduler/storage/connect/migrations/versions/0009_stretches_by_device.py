"""Stretches are found by device without a strategy: most pages of the ledger and every comparison ask for all."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_index("ix_stretches_run_id_device_stretch", "stretches", ["run_id", "device", "stretch"])


def downgrade() -> None:
    """Take it back."""
    op.drop_index("ix_stretches_run_id_device_stretch", "stretches")
