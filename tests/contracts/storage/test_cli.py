"""`hms db` from outside: what it prints, what it returns, what it leaves behind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.storage import RowBatch, open_store, write_batch
from tests.contracts.storage import samples


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'deep' / 'history.db'}"


async def fill(url: str, statement: str | None = None) -> None:
    store = await open_store(url)
    await write_batch(store, samples.batch(await samples.new_run(store), 0, 12))
    if statement is not None:
        async with store.reading() as connection:
            await connection.exec_driver_sql("ROLLBACK")
            await connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            await connection.execute(sa.text(statement))
    await store.close()


def test_upgrade_then_check_then_export(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "check", "--database", url]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert run(["db", "upgrade", "--database", url]) == 0
    assert "up to date" in capsys.readouterr().out
    asyncio.run(fill(url))
    assert run(["db", "check", "--database", url, "--full", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["behind"], answer["history"]["tasks"], answer["history"]["whole"]) == (False, 12, True)
    path = tmp_path / "out.parquet"
    assert run(["db", "export", str(path), "--database", url]) == 0
    assert "72 rows" in capsys.readouterr().out
    assert pq.read_table(path).num_rows == 72


def test_a_broken_history_is_named_and_ends_with_one(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "upgrade", "--database", url]) == 0
    asyncio.run(fill(url, "DELETE FROM tasks WHERE task_id = 5"))
    capsys.readouterr()
    assert run(["db", "check", "--database", url, "--full"]) == 1
    out = capsys.readouterr().out
    assert "broken" in out
    assert "missing tasks: 5" in out
    assert "orphan training: 5" in out


def test_a_task_that_nobody_could_decide_yet_is_counted_and_no_fault(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def announce() -> None:
        store = await open_store(url)
        row = samples.task(1, 12)._replace(arrival_time=3000.0)
        await write_batch(store, RowBatch(tasks=[row], training=[samples.label(12)], events=[samples.admitted(row)]))
        await store.close()

    assert run(["db", "upgrade", "--database", url]) == 0
    asyncio.run(fill(url))
    asyncio.run(announce())
    capsys.readouterr()
    assert run(["db", "check", "--database", url, "--full"]) == 0
    out = capsys.readouterr().out
    assert "the history is whole" in out
    assert "not decided: 1 (" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["db", "check", "--database", "mysql://me:geheim@host/db"],
        ["db", "upgrade", "--database", "postgresql://me:geheim@127.0.0.1:1/db", "--timeout", "0.2"],
        ["db", "export", "x.csv", "--table", "nothing"],
        ["db", "export", "x.xls"],
    ],
)
def test_bad_input_is_one_sentence_and_two(
    arguments: list[str], url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run(["db", "upgrade", "--database", url])
    capsys.readouterr()
    given = arguments if "--database" in arguments else [*arguments, "--database", url]
    assert run(given) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "geheim" not in printed.err + printed.out
    assert not list(tmp_path.glob("x.*"))
