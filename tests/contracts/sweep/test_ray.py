"""A sweep gives the same bytes on local processes and on a real Ray cluster of two nodes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.ray_engine import RayEngine
from hybrid_ml_scheduler.studies.sweep import load_sweep, run_sweep

PLAN = """
[simulation]
seeds = 2
[workload]
preset = "mixed"
num_tasks = 150
[schedulers]
race = ["round_robin", "{plugin}:Moody", "earliest_finish", "hybrid_ml", "rl_agent"]
[sweep]
"workload.noise_sigma" = [0.0, 0.5]
"simulation.num_gpus" = [1, 2]
"""
# The first two cells that succeed wait for each other, so that one quick node cannot do the work of both.
PLUGIN = """
import os, pathlib, time
from hybrid_ml_scheduler import Decision

def meet():
    place = pathlib.Path(__file__).with_name("meeting")
    place.mkdir(exist_ok=True)
    (place / str(os.getpid())).touch()
    deadline_s = time.monotonic() + 60.0
    while len(list(place.iterdir())) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.01)

class Moody:
    name = "moody"
    def decide(self, task, cluster):
        if cluster.estimator.num_gpus == 1 and task.task_id == 0:
            meet()
        if cluster.estimator.num_gpus == 2 and cluster.now_s > 20 and task.task_id == 149:
            raise RuntimeError("tired")
        return Decision(gpu_fraction=task.compute_intensity)
"""


def on_two_nodes(*arguments: str) -> dict[str, Any]:
    """What the sweep said; the cluster lives in a network namespace with nothing but loopback."""
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    program = str(Path(__file__).with_name("two_nodes.py"))
    # Nodes, workers and driver must agree on how they authenticate.
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    # A short path of its own, for Ray has sockets there and leaves its logs behind.
    with tempfile.TemporaryDirectory(prefix="hms-ray-") as folder:
        done = subprocess.run(
            [*apart, sys.executable, program, *arguments],
            capture_output=True,
            text=True,
            timeout=900,
            env={**environment, "RAY_TMPDIR": folder},
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_two_ray_nodes_and_local_processes_give_the_same_bytes_and_the_same_failures(tmp_path: Path) -> None:
    plugin = tmp_path / "moody.py"
    plugin.write_text(PLUGIN)
    plan = tmp_path / "sweep.toml"
    plan.write_text(PLAN.format(plugin=plugin))
    said = on_two_nodes(str(plan), "--out", str(tmp_path / "ray"))
    assert said["code"] == 1, said["err"]
    told = json.loads(said["out"])
    assert told["nodes"] == 2, "both nodes must have done cells"

    sweep = load_sweep(plan)
    folder = ResultsFolder.create(tmp_path / "local", kind="sweep", plan=sweep.source)
    failures = run_sweep(sweep, folder, LocalEngine(2))
    assert 0 < len(failures) < len(sweep.cells)
    assert all("tired" in reason for reason in failures.values())
    assert told["failures"] == failures
    for name in ("tables/sweep.parquet", "tables/sweep.csv", "tables/intervals.parquet", "failures.json"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999"])
def test_an_address_where_nobody_answers_is_one_sentence(address: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(address)):
        list(RayEngine(address).results(len, ["a"]))
