"""A row's place in the ledger as a word that a client hands back: it is made here and read here, nowhere else."""

from __future__ import annotations

import base64
import binascii
import json

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.storage import LedgerMark, LedgerRow

__all__ = ["mark_of", "read_mark", "written_mark"]


def mark_of(row: LedgerRow, sort: str) -> LedgerMark:
    """Return where a row stands in this order."""
    value = None if sort == "task_id" else getattr(row, sort)
    return LedgerMark(value, row.task_id, row.scheduler_name)


def written_mark(mark: LedgerMark) -> str:
    """Return a mark as a word that can stand in an address."""
    return base64.urlsafe_b64encode(json.dumps(list(mark)).encode()).decode().rstrip("=")


def read_mark(word: str, *, is_name: bool) -> LedgerMark:
    """Return the mark that a word stands for; any other word is refused."""
    try:
        value, task_id, name = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise PlanError("This is no place in the ledger: `after` and `before` take what a page has given.") from None
    is_value = value is None or isinstance(value, str if is_name else (int, float))
    is_whole = isinstance(task_id, int) and not isinstance(task_id, bool) and 0 <= task_id < 2**63
    if not (is_value and is_whole and isinstance(name, str)):
        raise PlanError("This is no place in this order of the ledger; begin with its first page.")
    return LedgerMark(value, task_id, name)
