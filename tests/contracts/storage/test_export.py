"""The exported file holds exactly what is stored."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hybrid_ml_scheduler.storage import (
    EXPORT_TABLES,
    ExportFormat,
    RowBatch,
    StorageError,
    Store,
    export_bytes,
    export_file,
    write_batch,
)
from tests.contracts.storage import samples


@pytest.fixture
async def filled(store: Store) -> RowBatch:
    """More results than one page holds, the last one failed."""
    batch = samples.batch(await samples.new_run(store), 0, 900)
    results = [*batch.results[:-1], samples.failed(899, "oracle")]
    whole = RowBatch(tasks=batch.tasks, results=results, training=batch.training)
    await write_batch(store, whole)
    return whole


async def test_csv_round_trip_to_the_last_bit(store: Store, filled: RowBatch, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    assert await export_file(store, path) == len(filled.results)
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    results = {(row.task_id, row.scheduler_name): row for row in filled.results}
    assert len(lines) == len(results)
    for line in lines:
        row = results[int(line["task_id"]), line["scheduler_name"]]
        assert (line["latency"] == "") == (row.latency is None)
        assert row.latency is None or float(line["latency"]) == row.latency
        assert float(line["size"]) == filled.tasks[row.task_id].size
        assert line["out_of_memory"] == str(int(row.out_of_memory))
        task = filled.tasks[row.task_id]
        assert (line["dependencies"], line["kind"]) == (task.dependencies, task.kind)
        assert (float(line["deadline"]) if line["deadline"] else None) == task.deadline
        assert (line["divisible"], line["gpus_required"]) == (str(int(task.divisible)), str(task.gpus_required))


async def test_parquet_round_trip_to_the_last_bit(store: Store, filled: RowBatch, tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    assert await export_file(store, path) == len(filled.results)
    table = pq.read_table(path)
    results = {(row.task_id, row.scheduler_name): row for row in filled.results}
    assert table.num_rows == len(results)
    for line in table.to_pylist():
        row = results[line["task_id"], line["scheduler_name"]]
        assert (line["latency"], line["failed"], line["gpu_id"]) == (row.latency, row.failed, row.gpu_id)
        task = filled.tasks[row.task_id]
        assert line["memory_required"] == task.memory_required
        assert (line["deadline"], line["divisible"], line["gpus_required"]) == (
            task.deadline,
            task.divisible,
            task.gpus_required,
        )


@pytest.mark.parametrize("format", ["csv", "parquet"])
async def test_the_stream_comes_in_pieces_and_equals_the_file(
    store: Store, filled: RowBatch, tmp_path: Path, format: ExportFormat
) -> None:
    path = tmp_path / "whole"
    await export_file(store, path, format=format)
    pieces = [piece async for piece in export_bytes(store, format=format)]
    assert len(pieces) >= 3
    assert max(map(len, pieces)) < 0.95 * path.stat().st_size
    assert b"".join(pieces) == path.read_bytes()


async def test_every_table_can_be_exported(store: Store, filled: RowBatch) -> None:
    sizes = {"history": 5400, "scheduler_results": 5400, "tasks": 900, "training_data": 900, "runs": 1}
    for table in EXPORT_TABLES:
        text = b"".join([piece async for piece in export_bytes(store, table=table)]).decode()
        lines = list(csv.reader(io.StringIO(text)))
        assert len(lines) - 1 == sizes.get(table, 0)
    assert b"PAR1" in b"".join([piece async for piece in export_bytes(store, format="parquet", table="events")])


async def test_a_failed_export_leaves_no_file(store: Store, filled: RowBatch, tmp_path: Path) -> None:
    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await export_file(store, tmp_path / "history.csv", progress=stop)
    assert list(tmp_path.glob("*history.csv*")) == []


async def test_bad_names_are_refused_in_one_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="name the format"):
        await export_file(store, tmp_path / "history.xls")
    with pytest.raises(StorageError, match="cannot be written"):
        await export_file(store, tmp_path / "nowhere" / "history.csv")
    with pytest.raises(StorageError, match="cannot be exported"):
        await export_file(store, tmp_path / "history.csv", table="totals")  # type: ignore[arg-type]
