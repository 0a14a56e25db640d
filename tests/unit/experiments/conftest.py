"""One small comparison that many tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.experiments.comparison import compare
from hybrid_ml_scheduler.experiments.engines import LocalEngine
from hybrid_ml_scheduler.experiments.folder import ResultsFolder
from hybrid_ml_scheduler.experiments.plans import Plan, WorkloadChoice
from hybrid_ml_scheduler.experiments.race import entrants

STRATEGIES = ("round_robin", "greedy", "oracle", "cpu_only", "gpu_only", "earliest_finish")


def small_plan(seeds: int = 4) -> Plan:
    return Plan(
        seeds=seeds, schedulers=STRATEGIES, workload=WorkloadChoice(source="heavy", num_tasks=150), retrain_interval=50
    )


def small_comparison(path: Path, seeds: int = 4) -> ResultsFolder:
    plan = small_plan(seeds)
    folder = ResultsFolder.create(path, kind="heavy", plan=plan.to_mapping())
    compare(folder, plan, entrants(plan), report_name="heavy_simulation_report.csv", engine=LocalEngine(2))
    return folder


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    """A finished folder; look, do not touch."""
    return small_comparison(tmp_path_factory.mktemp("compared") / "results")
