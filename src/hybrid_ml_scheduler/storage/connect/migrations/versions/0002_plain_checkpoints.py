"""Checkpoints as they are: PostgreSQL took four times as long to store one as long as it tried to compress it."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    _store("EXTERNAL")


def downgrade() -> None:
    """Go back."""
    _store("EXTENDED")


def _store(how: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE checkpoints ALTER COLUMN blob SET STORAGE {how}")
