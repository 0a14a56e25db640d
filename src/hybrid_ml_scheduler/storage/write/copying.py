"""Blocks on their way into PostgreSQL: its binary COPY form, written a whole column at a time.

A field is its length (4 bytes, -1 for no value) and its bytes, big end first; a row is the number of its fields
(2 bytes) and the fields. Rows whose texts are equal and whose values are missing in the same places therefore have
equal lengths and are one array of records.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import device_name
from hybrid_ml_scheduler.storage.rows import CheckpointRow, ResultRow, TaskRow, TrainingRow
from hybrid_ml_scheduler.storage.write.blocks import FACTS, NUMBERS, ResultColumns, TaskBlock

__all__ = ["binary_rows", "copy_checkpoint", "copy_results", "copy_tasks", "copy_training"]

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_NO_PARENTS = "[]"
_PIECE_BYTES = 2**18

# A column of values, a text that all rows share, or no value in any row.
Field = npt.NDArray[Any] | str | None


async def copy_tasks(connection: AsyncConnection, table: sa.Table, blocks: Sequence[TaskBlock]) -> None:
    """Copy the tasks of the blocks; the transaction must have begun already."""
    pieces = (binary_rows(fields) for block in blocks for fields in _task_fields(block))
    await _copy(connection, table, TaskRow._fields, pieces)


async def copy_training(connection: AsyncConnection, table: sa.Table, blocks: Sequence[TaskBlock]) -> None:
    """Copy the labels of the blocks."""
    await _copy(connection, table, TrainingRow._fields, (binary_rows(_training_fields(block)) for block in blocks))


async def copy_results(connection: AsyncConnection, table: sa.Table, blocks: Sequence[TaskBlock]) -> None:
    """Copy the results of the blocks."""
    pieces = (
        binary_rows(fields)
        for block in blocks
        for name, columns in block.results.items()
        for fields in _result_fields(block, name, columns)
    )
    await _copy(connection, table, ResultRow._fields, pieces)


async def copy_checkpoint(connection: AsyncConnection, table: sa.Table, row: CheckpointRow) -> None:
    """Copy a checkpoint, which may be many megabytes, a little at a time: others want the interpreter's lock, too."""
    await _copy(connection, table, CheckpointRow._fields, _checkpoint_pieces(row))


def _checkpoint_pieces(row: CheckpointRow) -> Iterator[bytes]:
    run_id, boundary, blob, created_at = row
    yield struct.pack(">hiqiqi", len(row), 8, run_id, 8, boundary, len(blob))
    with memoryview(blob) as whole:
        for begin in range(0, len(blob), _PIECE_BYTES):
            yield bytes(whole[begin : begin + _PIECE_BYTES])
    yield struct.pack(">id", 8, created_at)


async def _copy(connection: AsyncConnection, table: sa.Table, columns: Sequence[str], pieces: Iterable[bytes]) -> None:
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    await driver.copy_to_table(table.name, source=_stream(pieces), columns=columns, format="binary")


async def _stream(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    yield _HEADER
    for piece in pieces:
        yield piece
    yield _END


def binary_rows(fields: Sequence[Field]) -> bytes:
    """Return rows in the binary form; at least one field must be a column."""
    template, places = _template(tuple(map(_kind, fields)))
    columns = [field for field in fields if isinstance(field, np.ndarray)]
    records = np.empty(len(columns[0]), dtype=template.dtype)
    records[:] = template
    for place, column in zip(places, columns, strict=True):
        records[place] = column
    return records.tobytes()


def _kind(field: Field) -> str | tuple[str]:
    """What a field needs in a record: a type for a column, its text (in a tuple) or nothing."""
    if isinstance(field, np.ndarray):
        return field.dtype.newbyteorder(">").str
    return "" if field is None else (field,)


@lru_cache(maxsize=1024)
def _template(kinds: tuple[str | tuple[str], ...]) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Return one record with all that does not change from row to row, and the names of what does."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    values: list[Any] = [len(kinds)]
    places: list[str] = []
    for number, kind in enumerate(kinds):
        text = kind[0].encode() if isinstance(kind, tuple) else b""
        form = f"S{len(text)}" if isinstance(kind, tuple) else kind
        layout.append((f"length_{number}", ">i4"))
        values.append(np.dtype(form).itemsize if form else -1)
        if form:
            layout.append((f"value_{number}", form))
            values.append(text if isinstance(kind, tuple) else 0)
        if form and not isinstance(kind, tuple):
            places.append(f"value_{number}")
    return np.array(tuple(values), dtype=layout), tuple(places)


def _task_fields(block: TaskBlock) -> Iterator[list[Field]]:
    """Yield the fields of all tasks of one kind."""
    kinds = np.array(block.kinds())
    for kind in np.unique(kinds):
        mine = np.flatnonzero(kinds == kind)
        known: dict[str, Field] = {
            "task_id": block.task_id[mine],
            "run_id": np.full(len(mine), block.run_id, dtype=np.int64),
            "dependencies": _NO_PARENTS,
            "kind": str(kind),
            "deadline": None,
            "divisible": np.ones(len(mine), dtype=np.bool_),
            "gpus_required": np.ones(len(mine), dtype=np.int32),
            "runs_on": "any",
            "label": "",
        }
        yield [known[name] if name in known else block.fact(name)[mine] for name in TaskRow._fields]


def _training_fields(block: TaskBlock) -> list[Field]:
    return [block.fact(name) if name in FACTS else block.task_id for name in TrainingRow._fields]


def _result_fields(block: TaskBlock, scheduler_name: str, columns: ResultColumns) -> Iterator[list[Field]]:
    """Yield the fields of all results that have the same device and miss the same values."""
    missing = np.isnan(columns.numbers)
    whole = columns.number("gpu_fraction") >= 1.0
    shape = (columns.gpu_id.astype(np.int64) * 2 + whole) << len(NUMBERS) | (1 << np.arange(len(NUMBERS))) @ missing
    for one in np.unique(shape):
        mine = np.flatnonzero(shape == one)
        first = mine[0]
        numbers = columns.numbers[:, mine]
        known: dict[str, Field] = {
            name: None if missing[place, first] else numbers[place] for place, name in enumerate(NUMBERS)
        }
        known |= {
            "task_id": block.task_id[mine],
            "scheduler_name": scheduler_name,
            "device": device_name(int(columns.gpu_id[first]), float(columns.number("gpu_fraction")[first])),
            "gpu_id": columns.gpu_id[mine],
            "out_of_memory": columns.out_of_memory[mine],
            "failed": columns.failed[mine],
        }
        yield [known[name] for name in ResultRow._fields]
