"""`hms race` from the outside: keys, determinism, plugins, intervals, traces and files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.schedulers import available

OLD = ("--workload", "mixed", "--knowledge", "exact")
ONE = ("--seeds", "1")
QUICK = ("race", "--tasks", "200", *OLD, "--scheduler", "greedy", "--scheduler", "earliest_finish")
METRICS = {
    "mean_time_s",
    "mean_latency_s",
    "p50_latency_s",
    "p95_latency_s",
    "p99_latency_s",
    "makespan_s",
    "device_seconds",
    "throughput",
    "energy_j",
    "cost_usd",
    "oom_count",
    "makespan_gap",
}


@pytest.fixture
def hms(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str) -> Any:
        capsys.readouterr()
        assert run([*words, "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


def test_the_json_holds_every_promised_key(hms: Any) -> None:
    result = hms(*QUICK, "--seed", "3", "--gpus", "2")
    assert set(result) >= {"schedulers", "lower_bound", "plan", "seed", "tasks"}
    assert result["seed"] == 3
    assert result["tasks"] == 200
    assert set(result["lower_bound"]) >= {"makespan_s", "mean_time_s"}
    for metrics in result["schedulers"].values():
        assert set(metrics) >= METRICS
        assert set(metrics["utilization"]) == {"cpu", "gpu_0", "gpu_1"}


def test_no_strategy_beats_the_proven_bound(hms: Any) -> None:
    result = hms(*QUICK, *ONE)
    for metrics in result["schedulers"].values():
        assert metrics["makespan_gap"] >= 0
        assert metrics["mean_time_s"] >= result["lower_bound"]["mean_time_s"]
        assert metrics["makespan_gap"] == pytest.approx(metrics["makespan_s"] / result["lower_bound"]["makespan_s"] - 1)


def test_several_seeds_give_means_with_intervals(hms: Any) -> None:
    several = hms(*QUICK, "--seeds", "3", "--seed", "5")
    singles = [hms(*QUICK, *ONE, "--seed", str(seed)) for seed in (5, 6, 7)]
    mean = sum(one["schedulers"]["greedy"]["mean_latency_s"] for one in singles) / 3
    greedy = several["schedulers"]["greedy"]
    assert greedy["mean_latency_s"] == pytest.approx(mean, rel=1e-12)
    low, high = greedy["mean_latency_s_ci"]
    assert low < mean < high
    assert set(greedy["utilization_ci"]) == set(greedy["utilization"])
    assert {f"{name}_ci" for name in METRICS} <= set(greedy)


def test_the_same_race_prints_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*QUICK, "--scheduler", "random", "--dependencies", "0.3", "--noise", "0.2", "--format", "json"]
    printed = []
    for _ in range(2):
        assert run(words) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_table_names_every_strategy_and_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUICK]) == 0
    shown = capsys.readouterr().out
    assert "greedy" in shown
    assert "earliest_finish" in shown
    assert "lower bound" in shown


def test_a_file_adds_a_strategy(hms: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from hybrid_ml_scheduler import Decision\n"
        "class Mine:\n"
        '    """Half of everything."""\n'
        "    name = 'mine'\n"
        "    def decide(self, task, cluster):\n"
        "        return Decision(gpu_fraction=0.5)\n"
    )
    result = hms("race", "--tasks", "100", "--scheduler", f"{tmp_path}/mine.py:Mine", "--scheduler", "greedy")
    assert set(result["schedulers"]) == {"mine", "greedy"}


def test_a_csv_workload_races_like_the_preset_it_came_from(hms: Any, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    assert run(["workload", "generate", "--tasks", "200", "--seed", "4", "--out", str(path)]) == 0
    from_preset = hms(*QUICK, *ONE, "--seed", "4")["schedulers"]
    words = ["--knowledge", "exact", "--scheduler", "greedy", "--scheduler", "earliest_finish"]
    from_file = hms("race", "--workload", str(path), *words)
    assert from_file["schedulers"] == from_preset


def test_a_promised_latency_gives_the_share_of_tasks_that_kept_it(hms: Any, tmp_path: Path) -> None:
    plan = tmp_path / "promise.toml"
    plan.write_text("[workload]\nslo_s = 1.0\nnum_tasks = 200\n")
    by_file = hms("race", "--plan", str(plan))["schedulers"]
    by_flag = hms("race", "--tasks", "200", *OLD, *ONE, "--slo", "1")["schedulers"]
    shares = {name: row["within_deadline"] for name, row in by_flag.items()}
    assert shares == {name: row["within_deadline"] for name, row in by_file.items()}
    assert 0.0 < min(shares.values()) < max(shares.values()) <= 1.0
    for name, row in by_flag.items():
        assert (shares[name] >= 0.95) == (row["p95_latency_s"] <= 1.0), name


def test_a_plan_file_says_everything_and_flags_override_it(hms: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[simulation]\nnum_gpus = 2\nseed = 9\n[workload]\npreset = "light"\nnum_tasks = 50\n'
        '[physics]\nco_execution = "serial"\n[physics.gpu]\nspeed = 2.0\n'
        '[schedulers]\nrace = ["oracle", "round_robin"]\n[schedulers.oracle]\nstep = 0.1\n'
    )
    result = hms("race", "--plan", str(plan), "--tasks", "60")
    assert result["tasks"] == 60
    assert result["seed"] == 9
    assert set(result["schedulers"]) == {"oracle", "round_robin"}
    assert result["plan"]["physics"]["gpu"]["speed"] == 2.0
    assert result["plan"]["physics"]["co_execution"] == "serial"
    assert len(result["plan"]["digest"]) == 16


def test_yaml_and_toml_plans_are_the_same_plan(hms: Any, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[workload]\nnum_tasks = 30\n[schedulers]\nrace = ["greedy"]\n')
    (tmp_path / "a.yaml").write_text("workload:\n  num_tasks: 30\nschedulers:\n  race: [greedy]\n")
    digests = {hms("race", "--plan", str(tmp_path / name))["plan"]["digest"] for name in ("a.toml", "a.yaml")}
    assert len(digests) == 1


def test_a_trace_has_a_lane_for_each_device_and_no_overlap_on_it(hms: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    hms(*QUICK, "--trace", str(path))
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"greedy", "earliest_finish"}
    lanes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(lanes) > 4
    for slices in lanes.values():
        slices.sort()
        assert all(next_start >= end - 1e-3 for (_, end), (next_start, _) in pairwise(slices))


def test_out_keeps_plan_results_and_table(hms: Any, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    result = hms(*QUICK, "--out", str(folder))
    assert json.loads((folder / "race.json").read_text()) == result
    assert json.loads((folder / "plan.json").read_text()) == result["plan"]
    lines = (folder / "summary.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["scheduler", "greedy", "earliest_finish"]


def test_schedulers_lists_the_registry(hms: Any) -> None:
    listed = hms("schedulers")["schedulers"]
    assert [entry["name"] for entry in listed] == list(available())


def test_no_winner_is_named_from_one_seed(hms: Any) -> None:
    assert hms(*QUICK, *ONE)["comparisons"] == []


def test_a_winner_comes_with_its_paired_interval(hms: Any) -> None:
    result = hms("race", "--tasks", "300", "--seeds", "8", "--scheduler", "random", "--scheduler", "earliest_finish")
    pair = next(one for one in result["comparisons"] if one["metric"] == "mean_latency_s")
    assert pair["winner"] == "earliest_finish"
    low, high = pair["difference_ci"]
    assert 0 < low < pair["difference"] < high


def test_equal_strategies_are_a_tie(hms: Any, tmp_path: Path) -> None:
    (tmp_path / "twin.py").write_text(
        "from hybrid_ml_scheduler.schedulers.rules.greedy import Greedy\nclass Twin(Greedy):\n    name = 'twin'\n"
    )
    result = hms(
        "race", "--tasks", "100", "--seeds", "3", "--scheduler", "greedy", "--scheduler", f"{tmp_path}/twin.py:Twin"
    )
    assert {one["winner"] for one in result["comparisons"]} == {None}


def test_until_decided_stops_as_soon_as_it_can(hms: Any) -> None:
    words = ("race", "--tasks", "300", "--until-decided", "--max-seeds", "40")
    result = hms(*words, "--scheduler", "cpu_only", "--scheduler", "earliest_finish")
    assert 5 <= result["seeds"] < 40
    assert {one["winner"] for one in result["comparisons"] if one["metric"] == "mean_latency_s"} == {"earliest_finish"}


def test_seeds_that_give_the_same_tasks_are_no_evidence(hms: Any, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    assert run(["workload", "generate", "--tasks", "60", "--out", str(path)]) == 0
    pair = ("--scheduler", "greedy", "--scheduler", "earliest_finish")
    result = hms("race", "--workload", str(path), "--seeds", "3", *pair)
    assert result["comparisons"] == []
    assert any(text.startswith("same_tasks") for text in result["assumptions"])
    greedy = result["schedulers"]["greedy"]
    assert greedy["mean_latency_s_ci"] == [greedy["mean_latency_s"]] * 2
    assert run(["race", "--workload", str(path), "--until-decided", *pair]) == 2


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--seed", str(2**63 - 1), "--seeds", "2"], "--seeds = 2 from seed 9223372036854775807"),
        (["--seed", str(2**63 - 5), "--until-decided", "--max-seeds", "10"], "--max-seeds = 10 from seed"),
        (["--until-decided", "--max-seeds", "3"], "--max-seeds = 3"),
    ],
)
def test_seeds_that_cannot_all_be_raced_are_refused_before_anything_is_written(
    words: list[str], culprit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*QUICK, *words, "--out", str(tmp_path / "a")]) == 2
    assert culprit in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_greatest_seed_can_be_raced(hms: Any) -> None:
    assert hms(*QUICK, "--seed", str(2**63 - 2), "--seeds", "2")["seeds"] == 2
