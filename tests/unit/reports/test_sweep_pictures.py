"""The pictures and the report of a sweep show its tables, for one parameter as for four."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.plans.metrics import figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.making import study_sweep, sweep_steps
from hybrid_ml_scheduler.reports.plots.sweep import over_the_rest, sweep_lines
from hybrid_ml_scheduler.reports.plots.sweep_leaders import sweep_leaders
from hybrid_ml_scheduler.reports.sweep_words import sweep_summary
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.sweep import load_sweep
from hybrid_ml_scheduler.studies.sweep_tables import sweep_tables

SHOWN = ("mean_latency_s", "makespan_s", "makespan_gap", "mean_time_s", "energy_j", "cost_usd")
TWO = """
[simulation]
seeds = 3
[workload]
num_tasks = 60
[schedulers]
race = ["greedy", "oracle", "earliest_finish"]
[sweep]
"workload.arrival_rate" = [2.0, 6.0, 40.0]
"simulation.num_gpus" = [1, 4]
"""
ONLY_FROM_TWO = """
from hybrid_ml_scheduler import Decision

class Moody:
    name = "moody"
    def decide(self, task, cluster):
        if cluster.estimator.num_gpus == 1:
            raise RuntimeError("one GPU is not enough")
        return Decision(gpu_fraction=0.5)
"""


def value_at(place: int, name: str, seed: int) -> float:
    """Two strategies cross between the first two points; seeds differ a little."""
    slope = {"greedy": 1.0 + 2.0 * place, "oracle": 2.0 + 0.5 * place}[name]
    return slope + 0.01 * seed * (1.0 + place)


def made(grid: dict[str, list[Any]], seeds: int = 3) -> dict[str, pd.DataFrame]:
    """The tables of a sweep whose every metric is `value_at` of the place of the first parameter."""
    rows = []
    for choice in product(*grid.values()):
        place = next(iter(grid.values())).index(choice[0])
        for seed, name in product(range(seeds), ("greedy", "oracle")):
            figures = dict.fromkeys(SHOWN, value_at(place, name, seed))
            bounds = {"makespan_bound_s": 0.5 + seed, "mean_time_bound_s": 0.1}
            rows.append({**dict(zip(grid, choice, strict=True)), "scheduler": name, "seed": seed, **figures, **bounds})
    return sweep_tables(rows)


def drawn(make: Callable[..., Figure], tables: dict[str, pd.DataFrame]) -> Figure:
    figure = make(lambda name: tables[name])
    figure.draw_without_rendering()
    return figure


def lines_of(axes: Any) -> dict[str, np.ndarray]:
    """The means of each strategy in a panel, by colour."""
    return {line.lines[0].get_color(): line.lines[0].get_ydata() for line in axes.containers}


RATE: dict[str, list[Any]] = {"workload.arrival_rate": [1.0, 2.0, 4.0]}
GPUS: dict[str, list[Any]] = {"simulation.num_gpus": [1, 2]}
NOISE: dict[str, list[Any]] = {"workload.noise_sigma": [0.0, 0.5]}
KIND: dict[str, list[Any]] = {"physics.coexecution": ["parallel", "serial"]}


@pytest.mark.parametrize(
    ("grid", "columns"),
    [(RATE, 1), ({**RATE, **GPUS}, 2), ({**RATE, **GPUS, **NOISE}, 4), ({**RATE, **GPUS, **NOISE, **KIND}, 4)],
    ids=["one", "two", "three", "four"],
)
def test_the_lines_are_the_means_for_any_number_of_parameters(grid: dict[str, list[Any]], columns: int) -> None:
    figure = drawn(sweep_lines, made(grid))
    assert len(figure.axes) == 4 * columns
    first = lines_of(figure.axes[0])
    for name in ("greedy", "oracle"):
        expected = [np.mean([value_at(place, name, seed) for seed in range(3)]) for place in range(3)]
        assert first[style_of(name).colour] == pytest.approx(expected, rel=1e-12)
    titles = [axes.get_title() for axes in figure.axes]
    if columns == 2:
        assert titles[:2] == ["num_gpus = 1", "num_gpus = 2"]
    if len(grid) == 4:
        assert figure.get_suptitle() == "Mean over all values of the other parameters"
        assert [axes.get_xlabel().replace("\n", "") for axes in figure.axes[-4:]] == list(grid)


def test_the_interval_of_a_mean_over_the_rest_is_over_seeds() -> None:
    sweep = made({**RATE, **GPUS, **NOISE})["sweep"]
    rows = over_the_rest(sweep, "simulation.num_gpus", ["energy_j"])
    own = rows[(rows["scheduler"] == "greedy") & (rows["along"] == 2)].iloc[0]
    by_seed = [np.mean([value_at(place, "greedy", seed) for place in range(3)]) for seed in range(3)]
    assert own["mean"] == pytest.approx(np.mean(by_seed))
    assert (own["high"] - own["low"]) / 2 == pytest.approx(4.302652729911275 * np.std(by_seed, ddof=1) / np.sqrt(3))


def test_nothing_is_averaged_over_more_points_here_than_there() -> None:
    sweep = made({**RATE, **GPUS, **NOISE})["sweep"]
    lost = (sweep["workload.arrival_rate"] == 4.0) & (sweep["simulation.num_gpus"] == 1) & (sweep["seed"] == 0)
    rows = over_the_rest(sweep[~lost], "simulation.num_gpus", ["energy_j"])
    own = rows[rows["scheduler"] == "greedy"].set_index("along")["mean"]
    assert own[1] == own[2] == pytest.approx(np.mean([value_at(p, "greedy", s) for p in (0, 1) for s in range(3)]))


def test_names_are_set_side_by_side_and_numbers_far_apart_logarithmically() -> None:
    names: Any = drawn(sweep_lines, made({"workload.preset": ["mixed", "heavy", "light"]})).axes[0]
    assert [label.get_text() for label in names.get_xticklabels()] == ["mixed", "heavy", "light"]
    assert {line.lines[0].get_linestyle() for line in names.containers} == {"None"}
    numbers = drawn(sweep_lines, made({"workload.arrival_rate": [1.0, 10.0, 100.0]})).axes[0]
    assert numbers.get_xscale() == "log"
    assert [label.get_text() for label in numbers.get_xticklabels()] == ["1", "10", "100"]


def test_the_map_is_in_full_colour_only_where_a_lead_is_shown() -> None:
    tables = made({**RATE, **GPUS})
    sweep = tables["sweep"]
    # At the first point the seeds disagree about who is faster.
    duration_factor = (sweep["workload.arrival_rate"] == 1.0) & (sweep["scheduler"] == "greedy") & (sweep["seed"] == 1)
    sweep.loc[duration_factor, "mean_latency_s"] = 3.0
    figure = drawn(sweep_leaders, sweep_tables(sweep.to_dict("records")))  # type: ignore[arg-type]  # keys are texts
    colours = np.asarray(figure.axes[0].images[0].get_array())[0]
    assert figure.axes[0].get_title() == "Mean latency"
    assert colours[1] == pytest.approx(to_rgb(style_of("oracle").colour))
    assert colours[2] == pytest.approx(to_rgb(style_of("oracle").colour))
    pale = 1 - 0.35 * (1 - np.array(to_rgb(style_of("greedy").colour)))
    assert colours[0] == pytest.approx(pale)


def test_the_map_of_many_parameters_counts_the_points_behind_a_cell() -> None:
    figure = drawn(sweep_leaders, made({**RATE, **GPUS, **NOISE}))
    assert {text.get_text() for text in figure.axes[0].texts} == {"2 of 2"}
    single = drawn(sweep_leaders, made(RATE))
    assert [label.get_text() for label in single.axes[0].get_yticklabels()][:2] == ["Mean latency", "Makespan"]


def test_one_seed_and_repeated_tasks_name_no_winner() -> None:
    one = made(RATE, seeds=1)
    assert (one["leaders"]["beaten"] == 0).all()
    facts = {"grid": {"workload.arrival_rate": 3}, "cells": 3, "seeds": 1, "schedulers": {"a": "none"}, "failures": 0}
    sentences = sweep_summary(facts, lambda name: one[name])
    assert sentences[0] == "3 cells: workload.arrival_rate (3 values) on one seed, 1 strategy."
    assert all(sentence.endswith("One seed shows no winner.") for sentence in sentences[1:])
    assert (made(RATE)["leaders"]["beaten"] == 1).all()
    same = made(RATE)["sweep"].assign(makespan_bound_s=1.0)
    assert (sweep_tables(same.to_dict("records"))["leaders"]["beaten"] == 0).all()  # type: ignore[arg-type]


def test_the_summary_counts_who_leads_where() -> None:
    tables = made({**RATE, **GPUS})
    facts = {"grid": {}, "cells": 18, "seeds": 3, "schedulers": {}, "failures": 2}
    sentences = sweep_summary(facts, lambda name: tables[name])
    assert sentences[1] == (
        "Mean latency: Oracle has the lowest mean at 4 of 6 points, Greedy at 2; the leader is shown to beat every "
        "other at 6 of them."
    )
    assert sentences[-1].startswith("2 of 18 cells failed")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    """A finished sweep, made by the command itself; look, do not touch."""
    path = tmp_path_factory.mktemp("swept")
    (path / "two.toml").write_text(TWO)
    assert run(["sweep", str(path / "two.toml"), "--out", str(path / "out"), "--workers", "1"]) == 0
    return ResultsFolder.open(path / "out")


def pdf_text(folder: ResultsFolder) -> str:
    reader = PdfReader(io.BytesIO((folder.path / "report.pdf").read_bytes()))
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))


def test_the_command_leaves_plots_and_a_report_that_are_remade_to_the_same_bytes(swept: ResultsFolder) -> None:
    assert swept.is_complete
    found = {path.name: path.read_bytes() for path in (*swept.path.glob("plots/*"), swept.path / "report.pdf")}
    assert set(found) == {f"sweep_{name}.{end}" for name in ("lines", "leaders") for end in ("png", "svg")} | {
        "report.pdf"
    }
    assert run(["report", str(swept.path), "--workers", "1"]) == 0
    assert {name: (swept.path / "plots" / name).read_bytes() for name in found if name != "report.pdf"} == {
        name: data for name, data in found.items() if name != "report.pdf"
    }
    assert (swept.path / "report.pdf").read_bytes() == found["report.pdf"]
    assert ResultsFolder.open(swept.path).is_complete


def test_every_lead_is_in_the_pdf_with_its_interval(swept: ResultsFolder) -> None:
    text = pdf_text(swept)
    leaders = swept.read_table("leaders")
    own = leaders[leaders["metric"] == "makespan_s"]
    assert len(own) == 6
    for row in own.to_dict("records"):
        value = figure_with_interval(row["mean"], row["low"], row["high"])
        point = f"{row['workload.arrival_rate']:g} {row['simulation.num_gpus']}"
        assert f"{point} {value} {label_of(row['scheduler'])}" in text


def test_a_sweep_with_failures_is_drawn_and_stays_unfinished(tmp_path: Path) -> None:
    plugin = tmp_path / "moody.py"
    plugin.write_text(ONLY_FROM_TWO)
    plan = tmp_path / "s.toml"
    plan.write_text(TWO.replace('"oracle"', f'"{plugin}:Moody"'))
    sweep = load_sweep(plan)
    folder = ResultsFolder.create(tmp_path / "out", kind="sweep", plan=sweep.source)
    steps: list[str] = []
    failures = study_sweep(sweep, folder, LocalEngine(1), local=LocalEngine(1), step=steps.append)
    assert len(failures) == 9
    assert len(steps) == sweep_steps(sweep)
    assert not folder.is_complete
    assert (folder.path / "plots/sweep_lines.png").is_file()
    assert "9 of 18 cells failed" in pdf_text(folder)
    assert run(["report", str(folder.path), "--workers", "1"]) == 0
    assert not ResultsFolder.open(folder.path).is_complete


def test_what_a_trace_leaves_open_is_told_with_the_sweep_of_it(tmp_path: Path) -> None:
    trace = Path(__file__).parents[2] / "data" / "jobs.swf"
    plan = tmp_path / "s.toml"
    plan.write_text(
        f'[workload]\nfile = "{trace}"\n[schedulers]\nrace = ["greedy"]\n[sweep]\n"simulation.num_gpus" = [1, 2]\n'
    )
    assert run(["sweep", str(plan), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    folder = ResultsFolder.open(tmp_path / "out")
    assumptions = folder.read_json("run.json")["assumptions"]
    assert assumptions
    assert "assumptions" not in folder.read_table("sweep")
    assert all(re.sub(r"\s+", " ", sentence) in pdf_text(folder) for sentence in assumptions)
