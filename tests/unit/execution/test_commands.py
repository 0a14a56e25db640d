"""The commands around real runs, and joblib on the executor."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import joblib
import numpy as np
import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.execution import HybridExecutor
from hybrid_ml_scheduler.execution.joblib_backend import register
from hybrid_ml_scheduler.execution.placing.store import FOLDER_VARIABLE, PerformanceStore
from hybrid_ml_scheduler.storage import RunSummary, integrity, open_store, ownership, run_totals
from tests.services import free_port
from tests.unit.execution.samples import add, square


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PerformanceStore:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    store = PerformanceStore(tmp_path)
    for size in (10.0, 20.0, 40.0):
        for _ in range(5):
            store.add("fft", "cpu", size, size / 100)
    store.save()
    return store


def test_stored_models_can_be_listed_shown_drawn_exported_and_forgotten(
    stored: PerformanceStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "list", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] | {"last_seen": ""} == {
        "kind": "fft", "device": "cpu", "count": 15, "median_s": 0.2, "last_seen": "",
    }  # fmt: skip
    assert run(["models", "list"]) == 0
    assert "|" not in capsys.readouterr().out  # a table as all others, no Markdown
    assert run(["models", "show", "fft", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["believed_s"] for row in rows] == pytest.approx([0.1, 0.2, 0.4], rel=0.3)
    assert run(["models", "plot", "fft", "--out", str(tmp_path / "fft.svg")]) == 0
    assert run(["models", "export", "--out", str(tmp_path / "all.csv")]) == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 16
    assert run(["models", "forget", "ftf"]) == 2
    assert "did you mean" in capsys.readouterr().err.lower()
    assert run(["models", "forget", "fft"]) == 0
    assert stored.histories() == []


def test_a_stream_of_real_kinds_is_run_told_and_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"sqlite:///{tmp_path / 'history.db'}"
    monkeypatch.setenv("DATABASE_URL", database)
    words = ["run", "--kind", "parse", "--kind", "sort", "--device", "numba", "--workers", "1", "--seconds", "0.5"]
    known = tmp_path / "real"
    assert run(["calibrate", *words[1:9], "--seconds", "2", "--out", str(known), "--format", "json"]) == 0
    capsys.readouterr()
    more = ["--calibration", str(known / "calibration.json"), "--scheduler", "earliest_device", "--format", "json"]
    assert run([*words, *more, "--out", str(known), "--store"]) == 0
    told = capsys.readouterr()
    assert "Stored as run 1." in told.err
    assert "never validated" in told.err
    rows = {row["strategy"]: row for row in json.loads(told.out)}
    assert rows["earliest_device"]["makespan_s"] > 0.0
    assert set(rows) == {"earliest_device", "cpu_only", "gpu_only", "round_robin"}
    assert {"run.json", "tasks.csv", "trace.json", "table.md"} <= {path.name for path in known.iterdir()}
    assert set(json.loads((known / "run.json").read_text())["decision_s"]) == set(rows)
    stored = asyncio.run(stored_totals(database))
    assert stored["earliest_device"].last_finish_s == pytest.approx(rows["earliest_device"]["makespan_s"])
    assert {"cpu_only.modelled", "earliest_device.modelled"} < set(stored)
    assert run([*words, *more, "--out", str(known), "--service", "http://127.0.0.1:1"]) == 2
    assert "No service answers at http://127.0.0.1:1" in capsys.readouterr().err


async def stored_totals(url: str) -> Mapping[str, RunSummary]:
    store = await open_store(url)
    try:
        assert (await integrity(store)).whole
        return (await run_totals(store, [1]))[1]
    finally:
        await store.close()


def test_a_program_of_ones_own_is_run_reported_on_and_stored(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"sqlite:///{tmp_path / 'history.db'}"
    monkeypatch.setenv("DATABASE_URL", database)
    script = tmp_path / "mine.py"
    script.write_text(
        "from hybrid_ml_scheduler.execution import HybridExecutor, task\n"
        "@task(kind='two\\nlines')\n"  # a word that no database should hold
        "def double(x): return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with HybridExecutor(1, devices=[], workers='threads') as executor:\n"
        "        print(list(executor.map(double, range(5))))\n"
    )
    assert run(["run", str(script), "--out", str(tmp_path / "out"), "--format", "json", "--store"]) == 0
    said = capfd.readouterr()
    (rows,) = json.loads(said.out)  # what the program prints does not stand among it
    assert [(row["place"], row["done"]) for row in rows] == [("cpu", 5)]
    assert "[0, 2, 4, 6, 8]" in said.err
    assert "Stored as run 1." in said.err
    assert asyncio.run(stored_totals(database))["earliest_device"].results == 5
    assert run(["run", str(tmp_path / "none.py")]) == 2
    assert "There is no program" in capfd.readouterr().err
    assert run(["run", str(script), "--scheduler", "greedy", "--kind", "fft"]) == 2
    assert "--scheduler, --kind would change nothing" in capfd.readouterr().err


def test_a_service_that_does_not_answer_is_named_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, address = tmp_path / "out", f"http://127.0.0.1:{free_port()}"
    assert run(["run", "--service", address, "--out", str(out)]) == 2
    assert f"No service answers at {address}" in capsys.readouterr().err
    assert not out.exists()


async def test_so_is_a_database_that_a_service_writes_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, database = tmp_path / "out", f"sqlite:///{tmp_path / 'history.db'}"
    monkeypatch.setenv("DATABASE_URL", database)
    async with ownership(database):
        assert await asyncio.to_thread(run, ["run", "--store", "--out", str(out)]) == 2
    assert "in use by another service" in capsys.readouterr().err
    assert not out.exists()


def test_joblib_hands_every_call_to_the_executor(hybrid: HybridExecutor) -> None:
    register()
    with joblib.parallel_config(backend="hybrid", executor=hybrid):
        assert joblib.Parallel()(joblib.delayed(add)(number, 1) for number in range(10)) == list(range(1, 11))
        squares = joblib.Parallel()(joblib.delayed(square)(np.full(3, float(number))) for number in range(4))
    assert [float(one[0]) for one in squares] == [0.0, 1.0, 4.0, 9.0]


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_level_that_real_tasks_cannot_have_is_refused_before_anything_is_measured(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([command, "--scheduler", "sjf@exact", "--out", str(out)]) == 2
    assert "there is no level exact; ask for sjf" in capsys.readouterr().err
    assert not out.exists()


def test_whoever_stops_a_measurement_gets_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "hybrid_ml_scheduler.execution",
        "calibrate",
        "--device",
        "numba",
        "--workers",
        "1",
    ]
    process = subprocess.Popen([*command, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "alone" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told.splitlines()[-1] == "Stopped; what was written down until now is kept."
    assert "Traceback" not in told
