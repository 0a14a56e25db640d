"""Which rows of a table are taken: `--where status=COMPLETED`, and a note on a status that nobody asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.text import amount, nearest_hint
from hybrid_ml_scheduler.workload.table import Table

__all__ = ["WHERE", "rows_where", "where_of"]

WHERE = "where"
_STATUS = frozenset({"status", "state", "jobstatus", "jobstate", "taskstatus", "taskstate", "phase", "outcome"})
_ENDED_WELL = frozenset({"completed", "complete", "succeeded", "success", "successful", "finished", "done", "ok", ""})
_MOST_NAMED = 5


def where_of(value: Any) -> dict[str, tuple[str, ...]]:
    """The trace option `where`: for each column the values of the rows to take."""
    if not isinstance(value, Mapping):
        raise PlanError(f"Trace option where = {value!r} must name columns and values, such as status = 'COMPLETED'.")
    found = {}
    for column, wanted in value.items():
        values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        if not values or not all(isinstance(one, (str, int, float)) for one in values):
            raise PlanError(f"Trace option where.{column} = {wanted!r} must be a value or a list of values.")
        found[str(column)] = tuple(str(one) for one in values)
    return found


def rows_where(table: Table, where: Mapping[str, Sequence[str]]) -> tuple[Table, list[str]]:
    """The rows whose columns have one of the values asked for, and what was left out, in words."""
    notes = []
    for column, wanted in where.items():
        if column not in table.columns:
            raise WorkloadError(
                f"{table.path}: --where needs the column {column!r}{nearest_hint(column, table.columns)}"
            )
        values = {one.strip().lower() for one in wanted}
        cells = table.columns[column]
        kept = [row for row, cell in enumerate(cells) if cell.strip().lower() in values]
        asked = f"{column}={' or '.join(wanted)}"
        if not kept:
            raise WorkloadError(f"{table.path}: no row has {asked}; {column!r} has {_counted(cells)}.")
        if len(kept) < len(table):
            lost = amount(len(table) - len(kept), "row")
            notes.append(f"where: {lost} of {len(table):,} left out; the others have {asked}.")
        table = table.rows(kept)
    return table, [*notes, *_unasked(table, where)]


def _unasked(table: Table, where: Mapping[str, Sequence[str]]) -> list[str]:
    """A note on each column of states with rows that did not end well, where no filter names it."""
    return [
        f"status: all rows are taken, whatever {name!r} says ({_counted(cells)}); "
        f"--where {name}={_usual(cells)} takes some of them."
        for name, cells in table.columns.items()
        if name not in where
        and "".join(filter(str.isalnum, name.lower())) in _STATUS
        and any(cell.strip().lower() not in _ENDED_WELL for cell in cells)
    ]


def _usual(cells: Sequence[str]) -> str:
    """The value that a person would keep: one that means a good end, else the commonest."""
    values = [cell.strip() for cell, _ in Counter(cells).most_common()]
    return next((one for one in values if one and one.lower() in _ENDED_WELL), values[0])


def _counted(cells: Sequence[str]) -> str:
    """The commonest values with their counts."""
    counts = Counter(cell.strip() or "nothing" for cell in cells).most_common()
    shown = ", ".join(f"{value[:40]}: {count:,}" for value, count in counts[:_MOST_NAMED])
    return shown + (", ..." if len(counts) > _MOST_NAMED else "")
