"""The history as a file: CSV or Parquet, made piece by piece, so that memory does not grow with it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.read.pages import EXPORT_TABLES, ExportPages, ExportTable

__all__ = ["EXPORT_TABLES", "ExportFormat", "ExportTable", "export_bytes", "export_file"]

ExportFormat = Literal["csv", "parquet"]


class _Encoder(Protocol):
    """Turns rows into bytes; `finish` gives what must stand at the end."""

    def encode(self, rows: Sequence[Sequence[Any]]) -> bytes: ...

    def finish(self) -> bytes: ...


async def export_bytes(
    store: Store, *, format: ExportFormat = "csv", table: ExportTable = "history"
) -> AsyncIterator[bytes]:
    """Yield the whole table as it stands now, in pieces."""
    pages = await ExportPages.of(store, table)
    async for piece, _ in _pieces(pages, _encoder(format, pages)):
        yield piece


async def export_file(
    store: Store,
    path: Path | str,
    *,
    format: ExportFormat | None = None,
    table: ExportTable = "history",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write the whole table to a file and return the number of rows; the file appears only when it is complete."""
    target = Path(path)
    pages = await ExportPages.of(store, table)
    encoder = _encoder(format or _format_of(target), pages)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        total = 0
        with unfinished.open("wb") as file:
            async for piece, rows in _pieces(pages, encoder):
                file.write(piece)
                total += rows
                if progress is not None:
                    progress(total)
        os.replace(unfinished, target)
    except OSError as problem:
        raise StorageError(f"{target} cannot be written: {problem.strerror}.") from problem
    finally:
        unfinished.unlink(missing_ok=True)
    return total


async def _pieces(pages: ExportPages, encoder: _Encoder) -> AsyncIterator[tuple[bytes, int]]:
    async for rows in pages.read():
        yield encoder.encode(rows), len(rows)
    yield encoder.finish(), 0


def _format_of(path: Path) -> ExportFormat:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return "csv"
    if suffix in (".parquet", ".pq"):
        return "parquet"
    raise StorageError(f"{path.name} says neither .csv nor .parquet; name the format.")


def _encoder(format: str, pages: ExportPages) -> _Encoder:
    if format == "csv":
        return _Csv(pages.names)
    if format == "parquet":
        return _Parquet(pages.names, pages.kinds)
    raise StorageError(f"{format!r} is no export format; csv and parquet are.")


class _Csv:
    """Numbers with every digit, nothing for a missing value, 1 and 0 for yes and no."""

    def __init__(self, names: Sequence[str]) -> None:
        self._buffer = io.StringIO()
        self._writer = csv.writer(self._buffer, lineterminator="\n")
        self._writer.writerow(names)

    def encode(self, rows: Sequence[Sequence[Any]]) -> bytes:
        self._writer.writerows(map(_plain, rows))
        return self._drained()

    def finish(self) -> bytes:
        return self._drained()

    def _drained(self) -> bytes:
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text.encode("utf-8")


def _plain(row: Iterable[Any]) -> list[Any]:
    return [int(value) if isinstance(value, bool) else value for value in row]


class _Parquet:
    """One row group a page, compressed; the sink is emptied after each."""

    def __init__(self, names: Sequence[str], kinds: Sequence[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
        self._arrow = pa
        self._schema = pa.schema([(name, types[kind]) for name, kind in zip(names, kinds, strict=True)])
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression="zstd")

    def encode(self, rows: Sequence[Sequence[Any]]) -> bytes:
        columns = list(zip(*rows, strict=True))
        arrays = [self._arrow.array(c, type=field.type) for c, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(self._arrow.record_batch(arrays, schema=self._schema))
        return self._sink.drain()

    def finish(self) -> bytes:
        self._writer.close()
        return self._sink.drain()


class _Sink(io.RawIOBase):
    """A file that forgets what has been fetched from it."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._place += len(part)
        return len(part)

    def drain(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole
