"""The stored tables say what the trials said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid_ml_scheduler.plans.intervals import t_interval
from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.race import entrants, race_seed
from hybrid_ml_scheduler.studies.tables import win_shares
from tests.unit.conftest import STRATEGIES, small_plan


def test_the_metrics_are_those_of_a_plain_race(compared: ResultsFolder) -> None:
    plan = small_plan()
    race = race_seed(plan, entrants(plan), 2)
    table = compared.read_table("metrics").set_index(["scheduler", "seed"])
    for name in STRATEGIES:
        expected = race.metrics(name)
        for metric in ("mean_latency_s", "makespan_s", "energy_j", "cost_usd", "makespan_gap"):
            assert table.loc[(name, 2), metric] == expected[metric]


def test_an_interval_is_that_of_the_seeds(compared: ResultsFolder) -> None:
    metrics, intervals = compared.read_table("metrics"), compared.read_table("intervals")
    own = metrics.loc[metrics["scheduler"] == "greedy", "makespan_s"]
    row = intervals[(intervals["scheduler"] == "greedy") & (intervals["metric"] == "makespan_s")].iloc[0]
    expected = t_interval(own.to_numpy())
    assert (row["mean"], row["low"], row["high"]) == (expected.mean, expected.low, expected.high)
    assert row["count"] == 4


def test_round_robin_is_its_own_measure(compared: ResultsFolder) -> None:
    metrics = compared.read_table("metrics")
    own = metrics.loc[metrics["scheduler"] == "round_robin", ["speedup_makespan", "speedup_time"]]
    assert (own == 1.0).all(axis=None)


def test_a_winner_always_has_an_interval_that_leaves_out_zero(compared: ResultsFolder) -> None:
    pairs = compared.read_table("comparisons")
    won = pairs[~pairs["winner"].isin(["equal", "not decided"])]
    assert len(won) > 0
    assert ((won["low"] > 0) | (won["high"] < 0)).all()
    assert (won["p_holm"] < 0.05).all()


def test_equal_values_count_for_nobody() -> None:
    shares = win_shares({"a": np.array([1.0, 2.0, 3.0, 4.0]), "b": np.array([1.0, 3.0, 2.0, 5.0])})
    assert shares == {("a", "b"): 0.5, ("b", "a"): 0.25}


def test_wins_and_losses_never_exceed_all_tasks(compared: ResultsFolder) -> None:
    wins = compared.read_table("wins").set_index(["metric", "row", "column"])["mean"]
    for metric, row, column in wins.index:
        assert 0.0 <= wins[(metric, row, column)] + wins[(metric, column, row)] <= 1.0 + 1e-12


def test_the_report_csv_is_the_interval_table_in_one_row_a_strategy(compared: ResultsFolder) -> None:
    wide = pd.read_csv(compared.path / "heavy_simulation_report.csv").set_index("scheduler")
    long = compared.read_table("intervals").set_index(["scheduler", "metric"])
    assert list(wide.index) == list(STRATEGIES)
    assert wide.loc["oracle", "energy_j_high"] == pytest.approx(long.loc[("oracle", "energy_j"), "high"], rel=1e-15)


def test_the_command_leaves_a_complete_folder_with_everything_in_it(compared: ResultsFolder) -> None:
    assert compared.is_complete
    assert compared.kind == "heavy"
    found = {path.relative_to(compared.path).as_posix() for path in compared.path.rglob("*") if path.is_file()}
    wanted = {"plan.json", "run.json", "status.json", "heavy_simulation_report.csv", "report.pdf", "plots/gantt.svg"}
    assert wanted <= found
    assert not any(name.startswith("trials") or ".part" in name for name in found)


def test_no_strategy_beats_the_bound(compared: ResultsFolder) -> None:
    metrics = compared.read_table("metrics")
    assert (metrics["makespan_gap"] >= 0).all()
    assert (metrics["mean_time_s"] >= metrics["mean_time_bound_s"]).all()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (184.0, "s", "184"),
        (0.21, "", "0.2100"),
        (27.43159, "", "27.43"),
        (48_457.3, "J", "48,457"),
        (0.00012346, "$", "0.0001235"),
        (0.000012345, "$", "1.234e-05"),
        (0.431, "%", "43.1 %"),
        (float("nan"), "s", "–"),
        (-3.7954, "", "-3.795"),
        (-0.0, "", "0"),
        (-3e-18, "s", "0"),
        (-3e-18, "%", "0.0 %"),
        (-0.0004, "%", "0.0 %"),
    ],
)
def test_numbers_are_written_for_people(value: float, unit: str, text: str) -> None:
    assert figure(value, unit) == text


def test_a_mean_without_interval_stands_alone() -> None:
    nan = float("nan")
    assert figure_with_interval(2.5, nan, nan) == "2.500"
    assert figure_with_interval(0.5, 0.25, 0.75, "%") == "50.0 % [25.0, 75.0]"
