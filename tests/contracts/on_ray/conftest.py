"""One Ray cluster of two nodes, for it takes long to start: what a sweep and the executor did on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture(scope="package")
def sweep_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of four cells, one of which fails; the cluster puts its results beside it, under "ray"."""
    plan = tmp_path_factory.mktemp("sweep") / "sweep.toml"
    plugin = plan.with_name("moody.py")
    plugin.write_text(PLUGIN)
    plan.write_text(PLAN.format(plugin=plugin))
    return plan


@pytest.fixture(scope="package")
def said(sweep_plan: Path) -> dict[str, Any]:
    """What both did on two nodes, in a network namespace with nothing but loopback."""
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    words = [sys.executable, str(Path(__file__).with_name("nodes.py")), str(sweep_plan)]
    # Nodes, workers and driver must agree on how they authenticate.
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    # A short path of its own, for Ray has sockets there and leaves its logs behind.
    with tempfile.TemporaryDirectory(prefix="hms-ray-") as folder:
        done = subprocess.run(
            [*apart, *words, str(sweep_plan.with_name("ray"))],
            capture_output=True,
            text=True,
            timeout=1200,
            env={**environment, "RAY_TMPDIR": folder},
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
