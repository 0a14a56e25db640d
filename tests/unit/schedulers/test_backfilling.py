"""FIFO and EASY backfilling start every task when a plain implementation of the published description starts it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create, find
from hybrid_ml_scheduler.studies.running import run_known
from tests.reference.backfilling import Job, start_times
from tests.unit.workload.comparing import real_files

NEVER_ON_THE_CPU_S = 1e9
NAMES = {"fifo": False, "easy_backfill": True}


def product_starts(name: str, jobs: list[Job], processors: int) -> np.ndarray:
    ones = np.ones(len(jobs))
    batch = TaskBatch.from_columns(
        size=ones,
        compute_intensity=ones,
        memory_required=ones,
        arrival_time=[job.submitted for job in jobs],
        cpu_time=NEVER_ON_THE_CPU_S * ones,
        gpu_time=[job.requested for job in jobs],
        gpus_required=[job.processors for job in jobs],
        divisible=np.zeros(len(jobs), dtype=bool),
        duration_factor=[job.runs / job.requested for job in jobs],
    )
    known = KnownTasks(batch=batch, node=Node.uniform(processors), truth=Truth(), seed=0)
    return run_known(create(name), known, EXACT).gpu_start_s


def generated(seed: int, processors: int, load: float, exact: bool) -> list[Job]:
    rng = np.random.default_rng(seed)
    widths = rng.choice([1, 1, 1, 2, 2, 3, 4, processors], 250).clip(max=processors)
    asked = rng.lognormal(3.0, 1.2, 250)
    share = np.ones(250) if exact else rng.uniform(0.05, 1.0, 250)
    gaps = rng.exponential(float((widths * asked * share).mean()) / (processors * load), 250)
    return [
        Job(float(at), int(width), float(long), float(long * part))
        for at, width, long, part in zip(np.cumsum(gaps), widths, asked, share, strict=True)
    ]


def from_log(path: Path, processors: int, most: int) -> list[Job]:
    """The first jobs of a log that fit the machine and say what they asked for; a run is cut at its request."""
    jobs: list[Job] = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            cells = [] if line.startswith(";") else line.split()
            if len(jobs) == most:
                break
            if cells and 0 < int(cells[4]) <= processors and float(cells[8]) > 0 and float(cells[3]) > 0:
                asked = float(cells[8])
                jobs.append(Job(float(cells[1]), int(cells[4]), asked, min(float(cells[3]), asked)))
    return jobs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("exact", [True, False], ids=["asks-exactly", "asks-too-much"])
@pytest.mark.parametrize(("processors", "load"), [(4, 0.7), (4, 1.3), (8, 0.9)])
def test_tasks_start_when_the_published_algorithm_starts_them(
    name: str, exact: bool, processors: int, load: float
) -> None:
    for seed in range(3):
        jobs = generated(seed, processors, load, exact)
        expected = start_times(jobs, processors, backfills=NAMES[name])
        assert product_starts(name, jobs, processors) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_jobs_of_a_real_log_start_when_the_published_algorithm_starts_them(name: str) -> None:
    for path in (one for one in real_files() if one.name.endswith(".swf.gz")):
        jobs = from_log(path, 16, 600)
        expected = start_times(jobs, 16, backfills=NAMES[name])
        assert product_starts(name, jobs, 16) == pytest.approx(expected, abs=1e-6)


def test_backfilling_starts_a_short_task_before_a_gang_that_waits_and_fifo_does_not() -> None:
    jobs = [Job(0, 3, 100, 100), Job(1, 4, 50, 50), Job(2, 1, 90, 90), Job(3, 1, 120, 120)]
    assert product_starts("fifo", jobs, 4).tolist() == [0, 100, 150, 150]
    assert product_starts("easy_backfill", jobs, 4).tolist() == [0, 100, 2, 150]


def test_a_task_without_a_gpu_waits_for_the_cpu_and_blocks_no_gang() -> None:
    ones = np.ones(4)
    batch = TaskBatch.from_columns(
        size=ones,
        compute_intensity=ones,
        memory_required=ones,
        arrival_time=[0.0, 0.0, 1.0, 2.0],
        cpu_time=[10.0, 10.0, 10.0, 10.0],
        gpu_time=[1.0, 1.0, 1.0, 1.0],
        gpus_required=[0, 0, 4, 1],
        divisible=np.zeros(4, dtype=bool),
    )
    for name in NAMES:
        columns = run_known(create(name), KnownTasks(batch=batch, node=Node(), truth=Truth(), seed=0), EXACT)
        assert columns.cpu_start_s[:2].tolist() == [0.0, 10.0]
        assert columns.gpu_start_s[2:].tolist() == [1.0, 2.0]


def test_both_are_listed_as_rules_with_a_label() -> None:
    assert {find(name).kind for name in NAMES} == {"heuristic"}
    assert find("easy_backfill").label == "EASY backfill"
