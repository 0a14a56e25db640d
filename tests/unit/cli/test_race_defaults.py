"""What `hms race` does where nothing is asked: several seeds, learned durations, and a verdict in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.reports.words import headline_words
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE, available
from hybrid_ml_scheduler.studies.headline import Standpoint, headline, judged_metric, ratios_to_rule
from hybrid_ml_scheduler.studies.race import entrants, run_race
from hybrid_ml_scheduler.studies.results import race_mapping

RULE, LEARNER = Standpoint(learning="none", knowledge="learned"), Standpoint(learning="online", knowledge="learned")
SEED_SIX = {"round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle"}


def told(samples: dict[str, list[float]], views: dict[str, Standpoint]) -> str:
    seeds = len(next(iter(samples.values())))
    rows = {name: {"learning": one.learning} for name, one in views.items()}
    return headline_words({"headline": headline("mean_latency_s", samples, views), "schedulers": rows, "seeds": seeds})


def test_a_bare_race_has_five_seeds_of_learned_work_and_the_best_strategies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["race", "--tasks", "60", "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["seeds"] == 5
    assert result["plan"]["workload"]["preset"] == "unknown"
    assert set(result["schedulers"]) == set(DEFAULT_RACE) == SEED_SIX | {"earliest_finish", "sjf", "rl_hold"}
    levels = {name: row["knowledge"] for name, row in result["schedulers"].items()}
    assert levels.pop("oracle") == "exact"
    assert set(levels.values()) == {"learned"}
    assert result["headline"]["best"] != "oracle"
    best_rule = result["headline"]["best_rule"]
    assert result["schedulers"][best_rule]["ratio_to_best_rule"] == 1.0
    assert len(result["schedulers"]["rl_hold"]["ratio_to_best_rule_ci"]) == 2


def test_the_sentence_stands_above_the_table_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    names = [word for name in ("sjf", "round_robin", "rl_hold") for word in ("--scheduler", name)]
    assert run(["race", "--tasks", "60", *names]) == 0
    said = capsys.readouterr().out.splitlines()
    assert " is best: its mean latency is " in said[0]
    assert "% [" in said[0]
    assert any("× sjf" in line for line in said[1:6])


def test_an_interval_with_zero_is_not_decided_and_one_without_it_is() -> None:
    views = {"sjf": RULE, "greedy": RULE, "rl_hold": LEARNER}
    clear = {"sjf": [2.0, 2.2, 2.1], "greedy": [9.0, 9.0, 9.0], "rl_hold": [1.0, 1.1, 1.06]}
    assert told(clear, views).startswith("rl_hold is best: its mean latency is 49.8 % [49.2, 50.5] below that of sjf")
    assert told(clear, views).endswith("the best simple rule.")
    vague = {**clear, "rl_hold": [1.0, 2.9, 1.9]}
    assert told(vague, views).endswith(": not decided by 3 seeds.")


def test_a_rule_that_leads_is_compared_with_the_best_strategy_that_learns() -> None:
    samples = {"sjf": [1.0, 1.0], "greedy": [1.1, 1.1], "rl_hold": [2.0, 2.0]}
    said = told(samples, {"sjf": RULE, "greedy": RULE, "rl_hold": LEARNER})
    assert said.startswith(
        "sjf is best: its mean latency is 50.0 % [50.0, 50.0] below that of rl_hold, the best strategy"
    )


def test_neither_the_oracle_nor_exact_durations_nor_failed_tasks_lead() -> None:
    samples = {
        "oracle": [1.0, 1.0],
        "sjf@exact": [2.0, 2.0],
        "greedy": [3.0, 3.0],
        "sjf": [4.0, 4.1],
        "lpt": [5.0, 5.0],
    }
    exact = Standpoint(learning="none", knowledge="exact")
    failing = Standpoint(learning="none", knowledge="learned", failed=7.0)
    views = {"oracle": exact, "sjf@exact": exact, "greedy": failing, "sjf": RULE, "lpt": RULE}
    found = headline("mean_latency_s", samples, views)
    assert found is not None
    assert found["best"] == found["best_rule"] == "sjf"
    assert ratios_to_rule(samples, views)["lpt"].mean == pytest.approx((5 / 4 + 5 / 4.1) / 2)


def test_one_seed_gives_no_interval_and_says_so() -> None:
    said = told({"sjf": [2.0], "rl_hold": [1.0]}, {"sjf": RULE, "rl_hold": LEARNER})
    assert said.endswith("50.0 % below that of sjf, the best simple rule; one seed cannot give an interval.")


def test_a_file_that_gives_the_same_tasks_for_every_seed_is_run_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    assert run(["workload", "generate", "--tasks", "40", "--out", str(path)]) == 0
    capsys.readouterr()
    assert run(["race", "--workload", str(path), "--scheduler", "sjf", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == 1


def batch(arrivals: list[float]) -> TaskBatch:
    ones = [1.0] * len(arrivals)
    return TaskBatch.from_columns(size=ones, compute_intensity=ones, memory_required=ones, arrival_time=arrivals)


def test_work_that_comes_at_once_is_judged_by_makespan_and_a_stream_by_latency() -> None:
    assert judged_metric(batch([0.0, 0.0, 0.0])) == "makespan_s"
    assert judged_metric(batch([0.0, 0.0, 1.0])) == "mean_latency_s"


def test_a_table_of_work_known_at_once_is_sorted_by_makespan(capsys: pytest.CaptureFixture[str]) -> None:
    from hybrid_ml_scheduler.cli.output.show import print_race

    choice = WorkloadChoice(
        source="mixed", num_tasks=60, values={"arrival_law": "batch", "dependency_probability": 0.3}
    )
    plan = Plan(schedulers=("lpt", "sjf", "round_robin", "greedy"), workload=choice, seeds=2)
    result: dict[str, Any] = race_mapping(plan, entrants(plan), run_race(plan))
    print_race(result)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = [words[0] for words in lines if words[1:2] == ["exact"]][: len(plan.schedulers)]
    rows = result["schedulers"]
    assert shown == sorted(plan.schedulers, key=lambda name: rows[name]["makespan_s"])
    assert shown != sorted(plan.schedulers, key=lambda name: rows[name]["mean_latency_s"])
    assert result["headline"]["metric"] == "makespan_s"


def test_all_strategies_of_heavy_say_beforehand_how_long_they_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["heavy", "--scheduler", "all", "--workload", str(tmp_path / "missing.csv"), "--workers", "2"]
    assert run([*words, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"{len(available())} strategies on 3 seeds take about " in said
    assert "min with 2 processes." in said
