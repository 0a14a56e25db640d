"""Ctrl-C and kill leave a folder that says so and goes on to the very results of an undisturbed run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hybrid_ml_scheduler.studies.folder import INCOMPLETE, ResultsFolder

PATIENCE_S = 120.0

SWEEP = """
[simulation]
seeds = 2
[workload]
preset = "mixed"
num_tasks = 200
[schedulers]
race = ["{plugin}:Patient"]
[sweep]
"workload.arrival_rate" = [4.0, 6.0]
"""
# Where a folder is named, no cell begins once another one is done: there is always something left to interrupt.
PLUGIN = """
import os, pathlib, time
from hybrid_ml_scheduler import Decision

class Patient:
    name = "patient"
    def decide(self, task, cluster):
        folder = os.environ.get("WAIT_WITH_CELLS_IN")
        while folder and task.task_id == 0 and any(pathlib.Path(folder).glob("cells/*.json")):
            time.sleep(0.01)
        return Decision(gpu_fraction=task.compute_intensity)
"""


def command(plan: Path, out: Path) -> list[str]:
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    return [sys.executable, "-c", program, "sweep", str(plan), "--out", str(out), "--workers", "2"]


def wait_for(found: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not any(found.glob("cells/*.json")):
        assert process.poll() is None, "it ended before it could be interrupted"
        assert time.monotonic() < deadline, "no cell was ever done"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan, and beside it the results of a run that nobody interrupted."""
    plan = tmp_path_factory.mktemp("undisturbed") / "s.toml"
    plugin = plan.with_name("patient.py")
    plugin.write_text(PLUGIN)
    plan.write_text(SWEEP.format(plugin=plugin))
    subprocess.run(command(plan, plan.parent / "out"), check=True, capture_output=True)
    return plan


@pytest.fixture
def temporary() -> Iterator[str]:
    """A folder with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="hms-test-", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_sweep_is_marked_and_resumes_to_the_same_bytes(
    tmp_path: Path, undisturbed: Path, temporary: str, how: signal.Signals
) -> None:
    plan = undisturbed
    # What a killed program leaves in its temporary folder goes with that folder.
    environment = {**os.environ, "WAIT_WITH_CELLS_IN": str(tmp_path / "out"), "TMPDIR": temporary}
    process = subprocess.Popen(
        command(plan, tmp_path / "out"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        wait_for(tmp_path / "out", process)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]
    assert b"Traceback" not in errors
    if how != signal.SIGKILL:
        assert errors.decode().splitlines()[-1:] == ["hms: Interrupted."]
        assert b"leaked" not in errors
    assert (tmp_path / "out" / INCOMPLETE).is_file()
    assert not ResultsFolder.open(tmp_path / "out").is_complete
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_S)
    assert alive == [], "a worker outlived the command"
    subprocess.run(command(plan, tmp_path / "out"), check=True, capture_output=True)
    for name in ("sweep.parquet", "sweep.csv", "intervals.csv"):
        assert (tmp_path / "out/tables" / name).read_bytes() == (plan.parent / "out/tables" / name).read_bytes()
    assert ResultsFolder.open(tmp_path / "out").is_complete


@pytest.mark.parametrize("everyone", [True, False], ids=["as a terminal sends it", "to the command alone"])
def test_ctrl_c_while_the_server_process_still_imports_says_one_sentence(
    tmp_path: Path, undisturbed: Path, temporary: str, everyone: bool
) -> None:
    process = subprocess.Popen(
        command(undisturbed, tmp_path / "out"),
        env={**os.environ, "TMPDIR": temporary},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_for_the_server(process)
        (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)  # until the last process of the command has ended
    finally:
        process.kill()
    assert errors.decode().splitlines()[-1:] == ["hms: Interrupted."]
    assert b"Traceback" not in errors
    assert process.returncode == 130


def wait_for_the_server(process: subprocess.Popen[bytes]) -> None:
    """Wait until the server process is in the midst of its imports: NumPy is there, the rest is to come."""
    deadline = time.monotonic() + PATIENCE_S
    while not any(map(is_importing_server, psutil.Process(process.pid).children())):
        assert process.poll() is None, "it ended before it could be interrupted"
        assert time.monotonic() < deadline, "no server process was ever started"
        time.sleep(0.005)


def is_importing_server(child: psutil.Process) -> bool:
    if not any("forkserver" in word for word in child.cmdline()):
        return False
    return any("numpy" in mapped.path for mapped in child.memory_maps())
