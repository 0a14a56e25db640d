"""How the results of each stretch of a run are spread; of tasks stored before nothing is known, as readers see."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "tails",
        sa.Column("run_id", sa.BigInteger, sa.ForeignKey("runs.run_id"), primary_key=True),
        sa.Column("scheduler_name", sa.String(80), primary_key=True),
        sa.Column("stretch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("ranges", sa.LargeBinary, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("told", "due", "in_time")),
        sa.Column("sum_slowdown", sa.Double, nullable=False),
        sa.Column("high_slowdown", sa.Double),
    )


def downgrade() -> None:
    """Take it back."""
    op.drop_table("tails")
