"""A retrained model is judged before it decides, may be refused, and may be called back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step; every model that is stored was activated."""
    outcome = sa.Column("outcome", sa.String(16), nullable=False, server_default="activated")
    op.add_column("model_versions", outcome)
    for name in ("held_out_error", "present_error"):
        op.add_column("model_versions", sa.Column(name, sa.Double()))


def downgrade() -> None:
    """Go back."""
    for name in ("present_error", "held_out_error", "outcome"):
        op.drop_column("model_versions", name)
