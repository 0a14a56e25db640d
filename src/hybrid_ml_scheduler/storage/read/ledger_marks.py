"""A row's place in the ledger as a word that a client hands back: it is made here and read here, nowhere else."""

from __future__ import annotations

import base64
import binascii
import json
from typing import NamedTuple

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.storage.records import LedgerRow, LedgerSort

__all__ = ["LedgerMark", "read_mark", "word_of"]

_NAMES = ("scheduler", "device")


class LedgerMark(NamedTuple):
    """Where a row stands in the order of the ledger: the value that is sorted by, its task and its strategy."""

    value: float | str | None
    task_id: int
    scheduler_name: str


def word_of(row: LedgerRow, sort: LedgerSort) -> str:
    """Return where a row stands in this order, as a word that can stand in an address."""
    mark = LedgerMark(None if sort == "task_id" else getattr(row, sort), row.task_id, row.scheduler)
    return base64.urlsafe_b64encode(json.dumps(list(mark)).encode()).decode().rstrip("=")


def read_mark(word: str | None, sort: LedgerSort) -> LedgerMark | None:
    """Return the mark that a word stands for, if there is one; a word that no page gave is refused."""
    if word is None:
        return None
    try:
        value, task_id, name = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise PlanError("This is no place in the ledger: `after` and `before` take what a page has given.") from None
    is_value = value is None or isinstance(value, str if sort in _NAMES else (int, float))
    is_whole = isinstance(task_id, int) and not isinstance(task_id, bool) and 0 <= task_id < 2**63
    if not (is_value and is_whole and isinstance(name, str)):
        raise PlanError("This is no place in this order of the ledger; begin with its first page.")
    return LedgerMark(value, task_id, name)
