"""A task has a kind, and a strategy's identifier may end in a level of knowledge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_NAMED = ("scheduler_results", "model_versions", "rollups", "run_summaries", "stretches")
_SHORT, _LONG = 64, 80


def upgrade() -> None:
    """Take the step; of the tasks that are stored no kind is known."""
    op.add_column("tasks", sa.Column("kind", sa.String(120), nullable=False, server_default=""))
    _resize(_SHORT, _LONG)


def downgrade() -> None:
    """Go back; a longer name is refused by a database that holds names to their length."""
    _resize(_LONG, _SHORT)
    op.drop_column("tasks", "kind")


def _resize(before: int, after: int) -> None:
    """Let names be longer or shorter; SQLite cannot, so there the table is written anew."""
    for table in _NAMED:
        with op.batch_alter_table(table) as batch:
            batch.alter_column(
                "scheduler_name", type_=sa.String(after), existing_type=sa.String(before), existing_nullable=False
            )
