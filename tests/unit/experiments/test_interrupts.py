"""Ctrl-C and kill leave a folder that says so and goes on to the very results of an undisturbed run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hybrid_ml_scheduler.experiments.folder import INCOMPLETE, ResultsFolder

SWEEP = """
[simulation]
seeds = 12
[workload]
preset = "mixed"
num_tasks = 20000
[schedulers]
race = ["greedy"]
[sweep]
"workload.arrival_rate" = [4.0, 6.0]
"""


def command(plan: Path, out: Path) -> list[str]:
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    return [sys.executable, "-c", program, "sweep", str(plan), "--out", str(out), "--workers", "2"]


def wait_for(found: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not any(found.glob("cells/*.json")):
        assert process.poll() is None, "it ended before it could be interrupted"
        assert time.monotonic() < deadline, "no cell was done in a minute"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan, and beside it the results of a run that nobody interrupted."""
    plan = tmp_path_factory.mktemp("undisturbed") / "s.toml"
    plan.write_text(SWEEP)
    subprocess.run(command(plan, plan.parent / "out"), check=True, capture_output=True)
    return plan


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_is_marked_and_resumes_to_the_same_bytes(
    tmp_path: Path, undisturbed: Path, how: signal.Signals
) -> None:
    plan = undisturbed
    process = subprocess.Popen(command(plan, tmp_path / "out"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(tmp_path / "out", process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert b"Traceback" not in errors
    assert (tmp_path / "out" / INCOMPLETE).is_file()
    assert not ResultsFolder.open(tmp_path / "out").is_complete
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == [], "a worker outlived the command"
    subprocess.run(command(plan, tmp_path / "out"), check=True, capture_output=True)
    for name in ("sweep.parquet", "sweep.csv", "intervals.csv"):
        assert (tmp_path / "out/tables" / name).read_bytes() == (plan.parent / "out/tables" / name).read_bytes()
    assert ResultsFolder.open(tmp_path / "out").is_complete
