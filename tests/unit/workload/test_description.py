from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from hybrid_ml_scheduler.cli.commands.workload import app
from hybrid_ml_scheduler.cli.output.workload_picture import bars, show
from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.workload import PRESETS, describe, generate, load, read_csv, resolve
from hybrid_ml_scheduler.workload.graph import levels
from tests.unit.workload.comparing import DATA, fingerprint

runner = CliRunner()


def test_a_description_counts_and_measures_what_is_there() -> None:
    description = describe(load(DATA / "own.csv"))
    assert description["tasks"] == 4
    assert description["columns"]["size"]["max"] == 2500.75
    assert description["columns"]["cpu_time"]["known"] == 2
    assert "duration_factor" not in description["columns"]
    assert description["arrivals"]["rate_per_s"] == 6.0
    assert description["graph"] == {"edges": 3, "tasks_with_parents": 2, "depth": 3, "width": 2, "most_parents": 2}


def test_quantiles_are_in_order_and_the_rate_is_near_the_presets() -> None:
    description = describe(generate(PRESETS["mixed"].with_values({"num_tasks": 20_000, "noise_sigma": 0.2}), 0))
    for summary in description["columns"].values():
        figures = [summary[key] for key in ("min", "p5", "p25", "p50", "p75", "p95", "p99", "max")]
        assert figures == sorted(figures)
    # 20,000 exponential gaps: the rate is within 3 % (more than 4 standard errors).
    assert description["arrivals"]["rate_per_s"] == pytest.approx(6.0, rel=0.03)
    assert description["arrivals"]["gap_cv"] == pytest.approx(1.0, rel=0.05)


def test_one_task_can_be_described() -> None:
    description = describe(generate(PRESETS["mixed"].with_values({"num_tasks": 1}), 0))
    assert description["arrivals"]["rate_per_s"] is None
    assert json.loads(json.dumps(description, allow_nan=False)) == description


def test_values_at_the_end_of_the_scale_can_be_described(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    header = "task_id,size,compute_intensity,memory_required,arrival_time"
    path.write_text(f"{header}\n0,1e12,1,1e12,0\n1,1e11,0,5e-324,1e11\n2,1e-12,0,1e11,1e12\n")
    result = runner.invoke(app, ["describe", str(path), "--format", "json"])
    assert result.exit_code == 0, result.exception
    assert json.loads(result.output)["columns"]["size"]["max"] == 1e12
    picture = runner.invoke(app, ["describe", str(path)])
    assert picture.exit_code == 0, picture.exception


@given(st.lists(st.lists(st.integers(0, 30), max_size=4, unique=True), min_size=1, max_size=30))
def test_a_level_is_one_more_than_the_deepest_parent(wanted: list[list[int]]) -> None:
    parents = [[parent for parent in listed if parent < row] for row, listed in enumerate(wanted)]
    offsets = np.cumsum([0, *(len(listed) for listed in parents)])
    flat = np.array([parent for listed in parents for parent in listed], dtype=np.int64)
    expected: list[int] = []
    for listed in parents:
        expected.append(1 + max((expected[parent] for parent in listed), default=-1))
    assert levels(offsets, flat).tolist() == expected


def test_rows_in_and_behind_a_cycle_have_no_level() -> None:
    offsets, parents = np.array([0, 0, 2, 3, 4]), np.array([0, 2, 1, 2])
    assert levels(offsets, parents).tolist() == [0, -1, -1, -1]


@pytest.mark.parametrize("values", [[1.0], [0.0, 5.0], [1.0, 1e6, 10.0], [2.0] * 9, [float("nan"), 3.0, 4.0]])
def test_a_histogram_has_a_full_bar_and_one_line(values: list[float]) -> None:
    picture, logarithmic = bars(np.array(values))
    assert "█" in picture
    assert logarithmic == (values == [1.0, 1e6, 10.0])


def test_the_picture_names_columns_graph_and_assumptions() -> None:
    for source in ("own.csv", "jobs.swf", "workflow.json"):
        batch = load(DATA / source)
        out = StringIO()
        show(batch, describe(batch), Console(file=out, width=100))
        text = out.getvalue()
        assert all(word in text for word in ("tasks", "size", "intensity", "memory MB", "arrivals", "graph", "depth"))
        assert all(sentence.partition(":")[0] in text for sentence in batch.assumptions)


def test_generate_writes_what_the_library_makes(tmp_path: Path) -> None:
    out = tmp_path / "tasks.csv.gz"
    size = ["--tasks", "40", "--seed", "7", "--workload", "heavy"]
    shape = ["--rate", "9", "--dependencies", "0.5", "--noise", "0.1"]
    result = runner.invoke(app, ["generate", *size, *shape, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "40 tasks written" in result.output
    values = {"num_tasks": 40, "arrival_rate": 9.0, "dependency_probability": 0.5, "noise_sigma": 0.1}
    assert fingerprint(read_csv(out)) == fingerprint(generate(PRESETS["heavy"].with_values(values), 7))


def test_convert_keeps_the_assumptions_in_the_file_and_prints_them(tmp_path: Path) -> None:
    out = tmp_path / "tasks.csv"
    command = [
        "convert",
        str(DATA / "philly.csv"),
        str(out),
        "--seed",
        "2",
        "--limit",
        "3",
        "--option",
        "target_load=0.9",
    ]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    made = load(DATA / "philly.csv", seed=2, limit=3, options={"target_load": 0.9})
    assert fingerprint(read_csv(out)) == fingerprint(made)
    assert "guessed_cpu_time" in result.output
    assert "target_load 0.9" in result.output


@pytest.mark.parametrize("source", ["mixed", str(DATA / "jobs.swf"), str(DATA / "workflow.json")])
def test_describe_speaks_json_and_pictures(source: str) -> None:
    result = runner.invoke(app, ["describe", source, "--format", "json"])
    assert result.exit_code == 0, result.output
    expected = {"source": source, "seed": 0, **describe(resolve(source))}
    assert json.loads(result.output) == expected
    picture = runner.invoke(app, ["describe", source])
    assert picture.exit_code == 0, picture.output
    assert "smallest to largest" in picture.output


@pytest.mark.parametrize(
    "command",
    [
        ["describe", "nothing.csv"],
        ["describe", "mixedd"],
        ["describe", "mixed", "--seed", "-1"],
        ["describe", "mixed", "--tasks", "0"],
        ["describe", str(DATA / "philly.csv"), "--option", "target_load"],
        ["convert", str(DATA / "philly.csv"), "OUT", "--limit", "0"],
        ["convert", str(DATA / "philly.csv"), "OUT", "--dialect", "phily"],
        ["convert", "nothing.csv", "OUT"],
        ["generate", "--tasks", "0", "--out", "OUT"],
        ["generate", "--rate", "nan", "--out", "OUT"],
        ["generate", "--dependencies", "2", "--out", "OUT"],
        ["generate", "--noise", "-1", "--out", "OUT"],
        ["generate", "--workload", "nothing", "--out", "OUT"],
    ],
)
def test_a_wrong_command_raises_one_sentence_and_writes_nothing(command: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    result = runner.invoke(app, [str(out) if word == "OUT" else word for word in command])
    assert isinstance(result.exception, HmsError)
    assert str(result.exception).endswith((".", "?"))
    assert list(tmp_path.iterdir()) == []
