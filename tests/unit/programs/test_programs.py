"""The benchmarks and examples run: every one of them, in seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.run import NAMES, benchmark

REPOSITORY = Path(__file__).parents[3]


def said(*words: str) -> str:
    """What a program of the repository prints; it must end well."""
    ended = subprocess.run([sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_in_seconds_and_its_figures_can_be_read(name: str) -> None:
    found = json.loads(said("benchmarks/run.py", name, "--quick", "--format", "json"))
    assert found
    assert benchmark(name).render(found).strip()


def test_no_benchmark_is_left_out_of_the_list() -> None:
    # what the benchmarks are made of
    parts = {
        "__init__",
        "constructed",
        "engine_job",
        "everywhere",
        "job",
        "live_rates",
        "network_peers",
        "peers",
        "run",
    }
    assert {path.stem for path in (REPOSITORY / "benchmarks").glob("*.py")} == parts | set(NAMES)


def test_the_example_of_an_own_trace_runs() -> None:
    assert said("examples/own_trace.py").startswith("4 tasks, 3 edges, depth 3\n")


def test_the_example_with_another_library_trains_and_compares() -> None:
    lines = said("examples/sb3_dqn.py", "--steps", "20", "--tasks", "20").splitlines()
    assert [line.split(" mean latency")[0].strip() for line in lines] == [
        "stable-baselines3 DQN",
        "always the soonest GPU",
        "always the CPU",
    ]


def test_the_example_of_spectra_places_batches_on_two_implementations() -> None:
    assert said("examples/spectra.py").splitlines()[-1] == "40 spectra, the loudest at 50 Hz"


def test_the_example_of_two_backends_answers_every_row() -> None:
    assert "1,200 rows answered" in said("examples/two_backends.py")


def test_the_example_of_a_workflow_runs_tasks_after_those_they_need() -> None:
    assert said("examples/workflow.py").splitlines()[-1] == "total of all shards: 1999000.0"


def test_every_program_of_the_repository_is_type_checked() -> None:
    checked = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8").split("[tool.mypy]")[1]
    files = next(line for line in checked.splitlines() if line.startswith("files ="))
    folders = {path.relative_to(REPOSITORY).parts[0] for path in REPOSITORY.glob("*/*.py")} - {"dashboard"}
    assert [folder for folder in folders if f'"{folder}"' not in files] == []
