"""`hms nodes` lists GPU types; `--gpu-type` and `--map` reach the race; bad values get one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from tests.unit.workload.comparing import DATA


def test_the_catalogue_is_listed_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes"]) == 0
    table = capsys.readouterr().out
    assert "h200" in table
    assert "examples of November 2026" in table
    assert run(["nodes", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"k80", "v100", "h200"} <= {one["name"] for one in found["gpu_types"]}


def test_a_race_takes_a_gpu_type_and_a_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "foreign.csv"
    path.write_text("start,run_s\n0,30\n5,60\n")
    flags = ["--map", "duration=run_s", "--map", "arrival_time=start", "--scheduler", "gpu_only", "--format", "json"]
    times = []
    for name in ("t4", "h200"):
        assert run(["race", "--workload", str(path), "--gpu-type", name, "--gpus", "1", *flags]) == 0
        result = json.loads(capsys.readouterr().out)
        times.append(result["schedulers"]["gpu_only"]["mean_time_s"])
        assert any(f"GPU seconds on {name} (2 tasks): 2 from the CPU time" in note for note in result["assumptions"])
    assert times[0] > times[1]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--gpu-type", "h2000"], "no GPU type 'h2000'"),
        (["--map", "duration"], "must have the form OURS=THEIRS"),
        (["--map", "size=a", "--map", "size=b"], "names 'size' more than once"),
    ],
)
def test_bad_flags_get_one_sentence(flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["race", "--workload", str(DATA / "own.csv"), *flags]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error


def test_tuning_reads_a_foreign_csv_by_its_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "foreign.csv", tmp_path / "tuned.json"
    path.write_text("start,run_s\n0,30\n5,60\n")
    flags = ["--map", "duration=elapsed", "--map", "arrival_time=start"]
    assert run(["tune", "--workload", str(path), "--out", str(out), *flags]) == 2
    assert "elapsed" in capsys.readouterr().err
    assert not out.exists()


def test_the_table_says_what_did_not_fit_and_what_cost_means(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[physics]\nrental_of = "node"\n[physics.gpu]\nmemory_mb = 100.0\nidle_power_w = 5.0\n')
    assert run(["race", "--plan", str(plan), "--tasks", "50", "--scheduler", "gpu_only"]) == 0
    printed = capsys.readouterr().out
    assert "cost: rent of the whole node" in printed
    assert "energy: that of idle devices is in it." in printed
    assert "of gpu_only did not fit the GPU they were given and ran on the CPU instead." in printed


def test_a_type_of_gpu_that_does_not_exist_is_never_advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "typed.csv"
    path.write_text("arrival_time,cpu_time,gpu_time.v1000\n0,1,2\n1,2,3\n")
    assert run(["race", "--workload", str(path)]) == 2
    said = capsys.readouterr().err
    assert "typed.csv: the column gpu_time.v1000 names no known GPU type" in said
    assert "did you mean 'v100'?" in said
    assert "--gpu-type v1000" not in said


def test_a_description_takes_the_type_and_number_of_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "typed.csv"
    path.write_text("arrival_time,cpu_time,gpu_time.v100\n0,1,2\n1,2,3\n")
    spans = []
    for flags in (["--gpu-type", "v100"], ["--gpu-type", "k80", "--gpus", "1"]):
        words = ["workload", "describe", str(path), "--option", "target_load=0.5", *flags]
        assert run([*words, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["columns"]["gpu_time.v100"]["max"] == 3.0
        spans.append(found["arrivals"]["last_s"])
        assert run(words) == 0
        assert "gpu_time.v100 s" in capsys.readouterr().out
    assert spans[1] > 4 * spans[0], "a slower GPU and fewer of them need gaps that are longer"
