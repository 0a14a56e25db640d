"""Say in stored plans which algorithm the name `hybrid_ml` meant in live runs before it meant a single one.

With exact durations it was the classic forest, which goes on as `mode = "share"`; otherwise it decided at once.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NAME = "hybrid_ml"
_runs = sa.table(
    "runs",
    sa.column("run_id", sa.BigInteger),
    sa.column("plan", sa.JSON),
    sa.column("controls", sa.JSON),
)


def upgrade() -> None:
    """Take the step."""
    connection = op.get_bind()
    for run_id, plan, controls in connection.execute(sa.select(_runs.c.run_id, _runs.c.plan, _runs.c.controls)).all():
        meant = _meant(plan) if "first_task_id" in controls else None  # a measured run is never continued
        if meant is not None:
            connection.execute(sa.update(_runs).where(_runs.c.run_id == run_id).values(plan=meant))


def _meant(plan: dict[str, Any]) -> dict[str, Any] | None:
    """The plan with what its `hybrid_ml` was; None where it says so already or has none."""
    section = plan.get("schedulers", {})
    own = section.get(_NAME, {})
    if "mode" in own or not any(name.partition("@")[0] == _NAME for name in section.get("race", ())):
        return None
    exact = plan.get("knowledge", {}).get("level", "exact") == "exact"
    usual = {"mode": "share", "guard": True} if exact else {"mode": "at_once"}
    return {**plan, "schedulers": {**section, _NAME: {**usual, **own}}}


def downgrade() -> None:
    """Nothing to take back: what a plan says now is what it meant before."""
