"""One small comparison that many tests look at."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.studies.folder import ResultsFolder

STRATEGIES = ("round_robin", "greedy", "oracle", "cpu_only", "gpu_only", "earliest_finish")


def small_plan(seeds: int = 4) -> Plan:
    return Plan(
        seeds=seeds, schedulers=STRATEGIES, workload=WorkloadChoice(source="heavy", num_tasks=150), retrain_interval=50
    )


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    """A finished folder, made by the command itself; look, do not touch."""
    path = tmp_path_factory.mktemp("compared") / "results"
    names = [word for name in STRATEGIES for word in ("--scheduler", name)]
    words = ["heavy", "--tasks", "150", "--seeds", "4", *names, "--knowledge", "exact"]
    words += ["--out", str(path), "--workers", "2"]
    assert run(words) == 0
    return ResultsFolder.open(path)
