"""A metric is declared once, and everything that shows it reads that declaration."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Summary, run_batch, summarize
from hybrid_ml_scheduler.core import BatchRule, TaskBatch
from hybrid_ml_scheduler.live.frames import Comparison
from hybrid_ml_scheduler.physics import Node, best_execution_s, durations
from hybrid_ml_scheduler.plans.glossary import metric_lines
from hybrid_ml_scheduler.plans.metrics import CATALOGUE, LISTS, METRICS, TASK_METRICS
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.service.wire.statistics import Metric
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results
from hybrid_ml_scheduler.workload import generate, preset

ROOT = Path(__file__).resolve().parents[3]
# What follows from several strategies or from a bound, and so is no figure of one run alone.
DERIVED = {"makespan_gap", "speedup_makespan", "speedup_time"}
# Figures of a run that no table of metrics shows.
UNLISTED = {"tasks", "idle_energy_j", "mean_queue_length", "utilization"}


def test_the_catalogue_holds_every_figure_of_a_run() -> None:
    assert {field.name for field in fields(Summary)} - UNLISTED == set(METRICS) - DERIVED


def test_every_name_on_the_wire_is_a_figure_of_the_live_race() -> None:
    told = {field.name for field in fields(Comparison)}
    assert {metric.wire for metric in CATALOGUE.values() if metric.wire is not None} <= told


def test_every_list_names_metrics_that_it_can_show() -> None:
    live = {key for key, metric in CATALOGUE.items() if metric.wire is not None}
    for place, keys in LISTS.items():
        assert len(keys) == len(set(keys)) > 0, place
        assert set(keys) <= (live if place.startswith("live") else set(CATALOGUE)), place
        if not place.startswith(("live", "task")):
            assert set(keys) <= set(METRICS), place


def test_the_metrics_of_single_tasks_are_columns_of_the_store_and_choices_of_the_api() -> None:
    assert set(TASK_METRICS.values()) <= set(scheduler_results.c.keys())
    assert {metric.value for metric in Metric} <= set(TASK_METRICS)


def test_every_metric_is_explained_in_sentences() -> None:
    told = [metric.meaning for metric in CATALOGUE.values()]
    assert [meaning for meaning in told if meaning[:1].islower() or not meaning.endswith(".")] == []


def test_the_glossary_page_is_written_from_the_catalogue() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert "\n".join(metric_lines()) in page, "run: python -m hybrid_ml_scheduler.plans.glossary"


def run_of(batch: TaskBatch, node: Node) -> Summary:
    rule: BatchRule = create("round_robin", {}).rule(batch)  # type: ignore[attr-defined]
    fastest_s = best_execution_s(batch, node, durations(batch, node)) * batch.duration_factor
    return summarize(run_batch(batch, node, rule), fastest_s)


def test_the_tail_of_a_run_is_that_of_its_tasks() -> None:
    batch, node = generate(replace(preset("heavy"), num_tasks=400), 3), Node()
    rule = create("round_robin", {}).rule(batch)  # type: ignore[attr-defined]
    latency = run_batch(batch, node, rule).latency_s
    fastest = best_execution_s(batch, node, durations(batch, node)) * batch.duration_factor
    slowdown = latency / np.maximum(fastest, 0.01)
    found = run_of(batch, node)
    assert found.longest_latency_s == latency.max()
    assert found.p99_latency_s <= found.p99_9_latency_s <= found.longest_latency_s
    assert found.mean_slowdown == pytest.approx(slowdown.mean())
    assert found.longest_slowdown == slowdown.max() > found.mean_slowdown > 0.0


def test_without_the_fastest_execution_there_is_no_slowdown() -> None:
    batch, node = generate(replace(preset("heavy"), num_tasks=20), 3), Node()
    rule = create("round_robin", {}).rule(batch)  # type: ignore[attr-defined]
    assert math.isnan(summarize(run_batch(batch, node, rule)).mean_slowdown)
