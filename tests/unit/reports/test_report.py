"""The PDF's numbers are the tables', plots and PDF are remade to the same bytes, and words follow the numbers."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.making import remake
from hybrid_ml_scheduler.reports.plots import COMPARISON_PLOTS, draw, plots_for
from hybrid_ml_scheduler.reports.plots.bars import cost_comparison
from hybrid_ml_scheduler.reports.words import executive_summary, standing, told_standing
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from tests.unit.conftest import STRATEGIES

SHOWN = ("mean_latency_s", "p95_latency_s", "mean_time_s", "makespan_s", "makespan_gap", "energy_j", "cost_usd")


def pdf_text(folder: ResultsFolder) -> str:
    reader = PdfReader(io.BytesIO((folder.path / "report.pdf").read_bytes()))
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))


def test_every_number_of_the_main_table_is_in_the_pdf(compared: ResultsFolder) -> None:
    text = pdf_text(compared)
    intervals = compared.read_table("intervals").set_index(["scheduler", "metric"])
    for name in STRATEGIES:
        row = label_of(name)
        for metric in SHOWN:
            cell: Any = intervals.loc[(name, metric)]
            unit = "%" if metric == "makespan_gap" else ""
            row += " " + figure_with_interval(cell["mean"], cell["low"], cell["high"], unit).replace(" %", "")
        assert row in text


def test_the_bounds_and_the_differences_are_in_the_pdf(compared: ResultsFolder) -> None:
    text = pdf_text(compared)
    bounds = compared.read_table("metrics").drop_duplicates("seed")
    assert f"makespan {figure(float(bounds['makespan_bound_s'].mean()))} s" in text
    pairs = compared.read_table("comparisons")
    for metric in ("mean_latency_s", "makespan_s"):
        best = compared.read_table("intervals").query("metric == @metric").sort_values("mean").iloc[0]["scheduler"]
        own = pairs[(pairs["metric"] == metric) & (pairs["second"] == best)]
        assert len(own) > 0
        for row in own.itertuples():
            assert figure_with_interval(-row.difference, -row.high, -row.low) in text
            assert f"[{figure(-row.high_all)}, {figure(-row.low_all)}]" in text
    assert "unadjusted 95 %" in text


def test_the_pdf_says_whose_bounds_the_line_is(compared: ResultsFolder) -> None:
    told = "the line is the mean of the proven lower bounds of the seeds; each seed's result lies above its own bound."
    assert pdf_text(compared).count(told) == 2


def test_one_point_of_a_training_has_whole_steps_on_its_axes() -> None:
    import pandas as pd

    from hybrid_ml_scheduler.reports.plots.training import rl_agent_training

    loads = [f"latency_vs_earliest_device_at_{load}" for load in ("0.5", "0.8", "0.95")]
    names = ["demonstrator_vs_earliest_device", "fit_loss", *loads]
    curves = pd.DataFrame({"curve": names, "step": 1, "value": 0.9, "workloads": "mixed"})
    for axes in rl_agent_training(lambda _: curves).axes:
        left, right = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if left <= tick <= right]
        assert ticks == [1.0]


def test_the_pdf_holds_plan_versions_machine_and_method(compared: ResultsFolder) -> None:
    text = pdf_text(compared)
    run = compared.read_json("run.json")
    for word in ("workload.arrival_rate", "physics.gpu.power_w", run["versions"]["numpy"], run["plan_digest"]):
        assert word in text
    assert "Holm" in text
    assert run["machine"]["cpu"] in text


def test_plots_and_pdf_are_remade_to_the_same_bytes_without_simulating(compared: ResultsFolder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(compared.path, copy)
    before = {path.name: path.read_bytes() for path in (*copy.glob("plots/*"), copy / "report.pdf")}
    for name in before:
        (copy / ("report.pdf" if name == "report.pdf" else f"plots/{name}")).unlink()
    assert run(["report", str(copy), "--workers", "2"]) == 0
    after = {path.name: path.read_bytes() for path in (*copy.glob("plots/*"), copy / "report.pdf")}
    assert after == before
    assert ResultsFolder.open(copy).is_complete


def test_tables_that_were_changed_are_not_reported(compared: ResultsFolder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(compared.path, copy)
    with open(copy / "tables" / "metrics.csv", "a") as file:
        file.write("x\n")
    with pytest.raises(HmsError, match="tables were changed"):
        remake(ResultsFolder.open(copy), engine=LocalEngine(1))


def test_every_named_plot_is_there_as_png_and_svg(compared: ResultsFolder) -> None:
    found = {path.name for path in (compared.path / "plots").iterdir()}
    assert found == {f"{name}.{suffix}" for name in COMPARISON_PLOTS for suffix in ("png", "svg")}
    for path in (compared.path / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert b"Software" not in path.read_bytes()[:200]


def test_a_plot_shows_its_numbers(compared: ResultsFolder) -> None:
    tables = {name: compared.read_table(name) for name in compared.tables()}
    before = draw("makespan_comparison", lambda name: tables[name])
    changed = dict(tables)
    intervals = tables["intervals"].copy()
    place = (intervals["metric"] == "makespan_s") & (intervals["scheduler"] == "greedy")
    intervals.loc[place, ["mean", "low", "high"]] *= 1.5
    changed["intervals"] = intervals
    assert draw("makespan_comparison", lambda name: changed[name]) != before


def test_the_summary_names_the_leader_with_its_interval(compared: ResultsFolder) -> None:
    sentences = executive_summary(compared.read_json("run.json"), compared.read_table)
    best = compared.read_table("intervals").query("metric == 'makespan_s'").sort_values("mean").iloc[0]
    sentence = next(one for one in sentences if one.startswith("Makespan:"))
    assert label_of(best["scheduler"]) in sentence
    assert figure_with_interval(best["mean"], best["low"], best["high"]) in sentence


def test_one_seed_names_no_winner(compared: ResultsFolder) -> None:
    intervals = compared.read_table("intervals").assign(low=float("nan"), high=float("nan"), count=1)
    comparisons = compared.read_table("comparisons").assign(winner="tie", low=float("nan"), high=float("nan"))
    changed = {"intervals": intervals, "comparisons": comparisons}
    run = {**compared.read_json("run.json"), "seeds": 1}
    sentences = executive_summary(run, lambda name: changed.get(name, compared.read_table(name)))
    assert not any("beats" in sentence for sentence in sentences)
    assert sum("One seed shows no winner" in sentence for sentence in sentences) == 5


def test_many_undecided_pairs_are_counted_and_named_in_the_table_of_leaders(compared: ResultsFolder) -> None:
    run = compared.read_json("run.json")
    pairs = compared.read_table("comparisons").assign(winner="not decided", would_have_shown=2.0)
    pairs["seeds_suggested"] = float("nan")
    sentences = executive_summary(run, lambda name: pairs if name == "comparisons" else compared.read_table(name))
    sentence = next(one for one in sentences if one.startswith("Makespan:"))
    assert "Against 5 strategies (the report's table names them) it is not decided by" in sentence
    assert ", the nearest, a difference of 2 s would have been shown four times in five." in sentence
    assert sum(label_of(name) in sentence for name in STRATEGIES) == 2, "the leader and the nearest"
    own = compared.read_table("comparisons")
    found = standing("makespan_s", compared.read_table("intervals"), own)
    assert found is not None
    assert found.beaten + len(found.not_beaten) == len(STRATEGIES) - 1
    text = pdf_text(compared)
    assert ", ".join(label_of(name) for name in found.not_beaten) in text


def test_a_pair_without_a_winner_is_equal_or_not_decided_and_the_words_say_what_could_be_seen() -> None:
    def told(winner: str, **facts: float) -> str:
        means = (("greedy", 1.0), ("oracle", 2.0))
        intervals = pd.DataFrame([{"metric": "makespan_s", "scheduler": name, "mean": mean} for name, mean in means])
        row = {"metric": "makespan_s", "first": "greedy", "second": "oracle", "difference": -1.0, "count": 3, **facts}
        found = standing("makespan_s", intervals, pd.DataFrame([{**row, "winner": winner, "low": -3.0, "high": 1.0}]))
        assert found is not None
        return told_standing(found, "s")

    assert told("equal") == "Its equals within 1 % are Oracle. It beats none."
    assert told("tie") == "Against Oracle it is not decided by 3 seeds. It beats none.", "a folder of the first edition"
    assert told("not decided", would_have_shown=2.0, seeds_suggested=12.0) == (
        "Against Oracle it is not decided by 3 seeds: a difference of 2 s would have been shown four times in five, "
        "and the one seen (1 s) with about 12 seeds. It beats none."
    )
    assert told("greedy").startswith("It beats all others; the next is Oracle")


def test_without_round_robin_there_is_no_picture_of_a_speed_up(compared: ResultsFolder) -> None:
    intervals = compared.read_table("intervals")
    unknown = intervals.assign(mean=intervals["mean"].where(~intervals["metric"].str.startswith("speedup")))
    every = plots_for(compared.tables(), lambda _: intervals)
    assert "speedup_comparison" in every
    assert plots_for(compared.tables(), lambda _: unknown) == [name for name in every if name != "speedup_comparison"]


def test_small_sums_have_whole_numbers_at_their_axis(compared: ResultsFolder) -> None:
    intervals = compared.read_table("intervals")
    small = intervals.assign(**{name: intervals[name] * 1e-6 for name in ("mean", "low", "high")})
    figure = cost_comparison(lambda _: small)
    figure.draw_without_rendering()
    for axes in figure.axes:
        shown = [label.get_text().replace("\N{MINUS SIGN}", "-") for label in axes.get_xticklabels()]
        assert [float(text) for text in shown] == pytest.approx(list(axes.get_xticks()))
        assert axes.xaxis.get_offset_text().get_text() == ""
