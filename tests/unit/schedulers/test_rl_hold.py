"""RL hold: the same in all forms, settings chosen by replay, a file that is data, and a gate that keeps plain rules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.cluster.batch import run_held_batch
from hybrid_ml_scheduler.cluster.columns import RunColumns
from hybrid_ml_scheduler.core import RaceContext, TaskBatch
from hybrid_ml_scheduler.core.errors import ModelError, PlanError
from hybrid_ml_scheduler.core.holding import HeldRule
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, Tariff, durations
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.schedulers.agents.hold_model import hold_document, load_hold
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.settings import PLAIN, SETTINGS
from hybrid_ml_scheduler.schedulers.holding.sjf import ShortestFirst
from hybrid_ml_scheduler.workload import generate, preset
from tests.properties.forms import Row, record_row, row_of
from tests.reference.holding import HeldOrder, StagedReference

NODE = Node()
STREAM = at_load(preset("mixed"), NODE, 0.9, 5, 300).batch
BATCH = at_once(preset("mixed"), NODE, 5, 60).batch
GRAPH = generate(
    preset("mixed").with_values({"num_tasks": 60, "arrival_law": "batch", "dependency_probability": 0.5}), 3
)


def rule_of(strategy: RlHold | ShortestFirst, batch: TaskBatch) -> HeldRule:
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(NODE), seed=0))
    rule = strategy.held_rule(batch, durations(batch, NODE))
    assert rule is not None
    return rule


def kernel_rows(batch: TaskBatch) -> list[Row]:
    columns = run_held_batch(batch, NODE, rule_of(RlHold(), batch))
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(NODE))))


def stepping_rows(batch: TaskBatch, cut: int | None = None) -> list[Row]:
    simulation, outcomes = Simulation(NODE, RlHold()), []
    for row, task in enumerate(batch):
        if row == cut:
            state = simulation.capture()
            simulation = Simulation(NODE, RlHold())
            simulation.restore(state)
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task)
    outcomes += simulation.drain()
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


@pytest.mark.parametrize("batch", [STREAM, BATCH, GRAPH], ids=["stream", "batch", "graph"])
def test_kernel_and_stepping_form_agree_with_reviews_on_the_way(batch: TaskBatch) -> None:
    assert stepping_rows(batch, cut=len(batch) // 2) == kernel_rows(batch)


def test_the_kernel_changes_its_setting_when_the_naive_reference_does() -> None:
    rule = rule_of(RlHold(), STREAM)
    assert len(rule.stages) >= 2
    order = {int(task_id): float(key) for task_id, key in zip(STREAM.task_id, rule.order, strict=True)}
    stages = [
        (first, HeldOrder(key=lambda t, s: order[t.task_id], steps=len(grid) - 1, price=price, longest=longest))
        for first, grid, price, longest in [
            (0, rule.grid, rule.price, rule.longest),
            *((stage.first, stage.grid, stage.price, stage.longest) for stage in rule.stages),
        ]
    ]
    expected = [record_row(record) for record in StagedReference(STREAM, NODE, stages).run()]
    assert kernel_rows(STREAM) == expected


def test_what_is_learned_beats_shortest_first_where_that_is_poor() -> None:
    loaded = at_load(preset("heavy"), NODE, 0.7, 11, 4000)
    latencies = {}
    for strategy in (RlHold(), ShortestFirst()):
        columns = run_held_batch(loaded.batch, NODE, rule_of(strategy, loaded.batch), seconds=loaded.seconds)
        latencies[strategy.name] = float(np.mean(columns.latency_s[400:]))
    assert latencies["rl_hold"] < 0.8 * latencies["sjf"]


@pytest.fixture(scope="module")
def crowded() -> LoadedTasks:
    return at_load(preset("mixed"), NODE, 0.95, 8_000_200, 6000)


def run(loaded: LoadedTasks, strategy: RlHold) -> RunColumns:
    return run_held_batch(loaded.batch, NODE, rule_of(strategy, loaded.batch), seconds=loaded.seconds)


def figures(loaded: LoadedTasks, objective: str) -> dict[str, float]:
    """What every objective comes to under one of them."""
    columns = run(loaded, RlHold(objective=objective))
    fastest_s = np.maximum(fastest_seconds(loaded.seconds.cpu_s, loaded.seconds.gpu_s, True), 0.01)
    mean_s, cpu_s, gpu_s = float(columns.latency_s.mean()), columns.cpu_s.sum(), columns.gpu_s.sum()
    return {
        "latency": mean_s,
        "slowdown": float((columns.latency_s / fastest_s).mean()),
        "p99": float(np.quantile(columns.latency_s, 0.99)),
        "energy": mean_s * float(cpu_s * NODE.cpu.power_w + gpu_s * NODE.gpus[0].power_w),
        "cost": mean_s * float(cpu_s * NODE.cpu.price_usd_s + gpu_s * NODE.gpus[0].price_usd_s),
    }


def test_what_is_asked_for_gets_better_than_if_the_mean_latency_is(crowded: LoadedTasks) -> None:
    usual = figures(crowded, "latency")
    for objective, share in (("slowdown", 0.8), ("p99", 0.95), ("energy", 1.0), ("cost", 1.0)):
        assert figures(crowded, objective)[objective] <= share * usual[objective], objective


def test_an_unknown_objective_is_refused_in_a_sentence() -> None:
    with pytest.raises(PlanError, match=r"rl_hold: objective = 'joy' must be one of latency, slowdown, p99"):
        RlHold(objective="joy")


def test_aging_and_patience_bound_the_longest_wait(crowded: LoadedTasks) -> None:
    longest = {
        name: float(run(crowded, RlHold(aging=aging, patience=patience)).latency_s.max())
        for name, aging, patience in (("neither", 0.0, 0.0), ("patience", 0.0, 10.0), ("aging", 60.0, 0.0))
    }
    assert longest["patience"] < 0.7 * longest["neither"]
    assert longest["aging"] < 0.7 * longest["neither"]
    for aging, patience in ((-2.0, -1.0), (-1.0, -2.0)):
        with pytest.raises(PlanError, match=r"must be -1 or a finite number of at least 0\."):
            RlHold(aging=aging, patience=patience)


def test_the_shipped_model_knows_all_settings_and_the_plain_ones_first() -> None:
    model = load_hold()
    assert model.settings == SETTINGS
    assert model.settings[:2] == PLAIN


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 9}, "has version 9; this program reads version 1"),
        ({"settings": []}, "holds no settings"),
        ({"settings": [[True, -1.0, None, 2.0, None]]}, "a setting outside its range"),
        ({"settings": [[True, "x", None, 2.0, None]]}, "a setting that is none"),
        ({"weights": [[1.0]]}, "does not hold 18 x 28 finite weights"),
        ({"patience": -3}, "does not hold a patience of at least 0"),
        ({"aging": "old"}, "does not hold an aging of at least 0"),
        ({"scale": [0.0] * 6}, "holds a scale that is not above 0"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path: Path, change: dict[str, object], sentence: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**hold_document(load_hold()), **change}))
    with pytest.raises(ModelError, match=sentence):
        RlHold(model=str(path))
