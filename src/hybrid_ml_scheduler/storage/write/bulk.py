"""The fast road into a table: COPY on PostgreSQL, statements of many rows on SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

__all__ = ["UpsertStatement", "insert_many", "insert_unless_there", "upsert_statement"]

# Many rows a statement, because SQLite's module takes the interpreter's lock once a row otherwise,
# and the race wants that lock too: twice the rows a second beside a busy thread.
_ROWS_PER_STATEMENT = 100

UpsertStatement = postgresql.Insert | sqlite.Insert


async def insert_many(connection: AsyncConnection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert named tuples whose fields are the table's columns; the transaction must have begun already."""
    if not rows:
        return
    columns: tuple[str, ...] = rows[0]._fields  # type: ignore[attr-defined]
    if connection.dialect.name == "postgresql":
        raw = await connection.get_raw_connection()
        driver: Any = raw.driver_connection
        await driver.copy_records_to_table(table.name, records=rows, columns=columns)
        return
    for begin in range(0, len(rows), _ROWS_PER_STATEMENT):
        chunk = rows[begin : begin + _ROWS_PER_STATEMENT]
        statement = _insert_text(table.name, columns, len(chunk))
        await connection.exec_driver_sql(statement, tuple(chain.from_iterable(chunk)))


@lru_cache(maxsize=512)
def _insert_text(table: str, columns: tuple[str, ...], rows: int) -> str:
    places = "(" + ", ".join("?" * len(columns)) + ")"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([places] * rows)}"


async def insert_unless_there(connection: AsyncConnection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert the rows whose key is new, leave the others alone, and say how many were new."""
    if not rows:
        return 0
    columns: tuple[str, ...] = rows[0]._fields  # type: ignore[attr-defined]
    statement = upsert_statement(connection.dialect.name, table).on_conflict_do_nothing()
    inserted = 0
    for row in rows:
        outcome = await connection.execute(statement, dict(zip(columns, row, strict=True)))
        inserted += outcome.rowcount
    return inserted


def upsert_statement(dialect: str, table: sa.Table) -> UpsertStatement:
    """Return the INSERT of a kind of database that can say ON CONFLICT."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
