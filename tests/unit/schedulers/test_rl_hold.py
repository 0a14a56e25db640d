"""RL hold: the same in all forms, settings chosen by replay, a file that is data, and a gate that keeps plain rules."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation, capacity
from hybrid_ml_scheduler.core import RaceContext, TaskBatch
from hybrid_ml_scheduler.core.errors import ModelError, PlanError, SchedulerError
from hybrid_ml_scheduler.core.holding import HeldRule, HeldStage, Pick
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
from hybrid_ml_scheduler.engine.batch import run_held_batch
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, Tariff, durations
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, known_at_load
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.schedulers.agents.hold_model import hold_document, load_hold
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.settings import PLAIN, SETTINGS, History, replayed_values
from hybrid_ml_scheduler.schedulers.holding.sjf import ShortestFirst
from hybrid_ml_scheduler.studies.running import run_known, run_scheduler
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


def kernel_rows(batch: TaskBatch, make: type[RlHold] = RlHold) -> list[Row]:
    columns = run_held_batch(batch, NODE, rule_of(make(), batch))
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(NODE))))


def stepping_rows(batch: TaskBatch, cut: int | None = None, make: type[RlHold] = RlHold) -> list[Row]:
    simulation, outcomes = Simulation(NODE, make()), []
    for row, task in enumerate(batch):
        if row == cut:
            state = simulation.capture()
            simulation = Simulation(NODE, make())
            simulation.restore(state)
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task)
    outcomes += simulation.drain()
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


@pytest.mark.parametrize("batch", [STREAM, BATCH, GRAPH], ids=["stream", "batch", "graph"])
def test_kernel_and_stepping_form_agree_with_reviews_on_the_way(batch: TaskBatch) -> None:
    assert stepping_rows(batch, cut=len(batch) // 2) == kernel_rows(batch)


class Restless(RlHold):
    """Takes another setting at every review, until it has had them all."""

    def _reviewed(self, history: History) -> int:
        self._setting = (self._setting + 1) % len(SETTINGS)
        return self._setting


def staged(rule: HeldRule, stage: HeldStage) -> tuple[int, HeldOrder]:
    """One stage of a rule for the naive reference."""
    column = (rule.order, *rule.orders)[stage.order]
    keys = dict(zip(STREAM.task_id.tolist(), column.tolist(), strict=True))
    pull = (stage.slowest, stage.affinity, stage.patience) if stage.slowest else None
    steps = len(stage.grid) - 1
    return stage.first, HeldOrder(
        key=lambda task, size_s: keys[task.task_id],
        steps=steps,
        price=stage.price,
        longest=stage.longest,
        pull=pull,
        score=min if stage.pick == Pick.LEAST_COMPLETION else None,
    )


def test_all_forms_change_their_setting_at_the_same_moment_and_follow_each_of_them_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hybrid_ml_scheduler.schedulers.agents.rl_hold._FIRST_REVIEW", 5)
    monkeypatch.setattr("hybrid_ml_scheduler.schedulers.agents.rl_hold._LONGEST_PAUSE", 1)
    rule = rule_of(Restless(), STREAM)
    assert len(rule.stages) > len(SETTINGS)
    stages = [staged(rule, stage) for stage in rule.stages]
    expected = [record_row(record) for record in StagedReference(STREAM, NODE, stages).run()]
    assert kernel_rows(STREAM, Restless) == expected
    assert stepping_rows(STREAM, cut=len(STREAM) // 2, make=Restless) == expected


def test_a_gang_reserves_its_gpus_and_short_tasks_fill_the_gap_before_it() -> None:
    tasks = TaskBatch.from_columns(
        size=np.full(4, 1000.0),
        compute_intensity=np.full(4, 0.5),
        memory_required=np.zeros(4),
        arrival_time=[0.0, 0.1, 0.2, 0.3],
        cpu_time=np.full(4, 1e6),
        gpu_time=[10.0, 2.0, 1.0, 20.0],
        gpus_required=[1, 2, 1, 1],
        divisible=np.zeros(4, dtype=bool),
    )
    columns = run_scheduler(RlHold(), tasks, Node.uniform(2), seed=0)
    assert columns.gpu_start_s.tolist() == [0.0, 10.0, 0.2, 12.0]


def test_where_seconds_are_learned_tasks_are_played_again_with_those_that_they_took() -> None:
    known = known_at_load(preset("unknown").with_values({"num_tasks": 80}), NODE, 0.8, 3, truth=usual_truth("unknown"))
    seen: list[History] = []

    class Watched(RlHold):
        def _reviewed(self, history: History) -> int:
            seen.append(history)
            return super()._reviewed(history)

    run_known(Watched(), known, LEARNED)
    assert all(history.slower is not None and len(set(history.slower.tolist())) > 8 for history in seen)
    played = seen[-1]
    slow = replayed_values(played._replace(slower=np.full(len(played.ready_s), 3.0)), PLAIN, "latency", np.zeros(5))
    told = replayed_values(played._replace(slower=None), PLAIN, "latency", np.zeros(5))
    assert np.all(slow[:2] > told[:2])


@pytest.fixture(scope="module")
def hidden_by_size() -> KnownTasks:
    """Tasks of one kind with times of their own: of large ones fifty times what their features say."""
    told = known_at_load(preset("mixed").with_values({"num_tasks": 900}), NODE, 0.8, 3, truth=usual_truth("mixed"))
    seconds, larger = durations(told.batch, NODE), told.batch.size > np.quantile(told.batch.size, 0.9)
    longer = np.where(larger, 50.0, 1.0)
    batch = replace(told.batch, cpu_time=seconds.cpu_s * longer, gpu_time=seconds.gpu_s[:, 0] * longer)
    slower = capacity(told.batch, NODE) / capacity(batch, NODE)
    return replace(told, batch=replace(batch, arrival_time=batch.arrival_time * slower))


def test_where_seconds_are_learned_a_forest_finds_what_the_estimator_misses(hidden_by_size: KnownTasks) -> None:
    def mean_s(strategy: RlHold | ShortestFirst, level: Level) -> float:
        finish_s = run_known(strategy, hidden_by_size, level).finish_s
        return float((finish_s - hidden_by_size.batch.arrival_time)[200:].mean())

    learner, told = RlHold(), RlHold()
    assert mean_s(learner, LEARNED) < 0.5 * mean_s(ShortestFirst(), LEARNED)
    assert learner.last_training["share"] > 0.0
    mean_s(told, EXACT)
    assert not told.training_due()  # what is told needs no correction
    assert told.capture()["training"] is None


def test_what_the_forest_has_learned_survives_a_checkpoint(hidden_by_size: KnownTasks) -> None:
    told = hidden_by_size.facts_for(LEARNED)
    assert told.factors is not None
    factors = (told.factors * told.batch.duration_factor[:, None]).tolist()

    def fresh() -> Simulation:
        return Simulation(NODE, RlHold(), seed=1, recall=0, learned=hidden_by_size.estimator())

    def go(simulation: Simulation, rows: range) -> list[float]:
        done = []
        for row in rows:
            done += simulation.advance(told.batch.task(row).arrival_time)
            simulation.offer(told.batch.task(row), tuple(factors[row]))
        return [outcome.finish_s for outcome in done]

    whole, begun, resumed = fresh(), fresh(), fresh()
    straight = go(whole, range(600)) + [outcome.finish_s for outcome in whole.drain()]
    first, state = go(begun, range(400)), begun.capture()
    resumed.restore(pickle.loads(pickle.dumps(state)))
    assert isinstance(begun.scheduler, RlHold)
    assert begun.scheduler.last_training["share"] > 0.0
    assert first + go(resumed, range(400, 600)) + [outcome.finish_s for outcome in resumed.drain()] == straight


def test_a_state_of_another_version_is_refused_in_a_sentence() -> None:
    strategy = RlHold()
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(NODE), seed=0))
    state = {name: value for name, value in strategy.capture().items() if name != "version"}
    with pytest.raises(SchedulerError, match=r"rl_hold: the stored state is of another version\."):
        strategy.restore(state)


def test_tasks_that_must_not_be_cut_go_by_their_seconds_on_whole_devices() -> None:
    whole = replace(STREAM, divisible=np.zeros(len(STREAM), dtype=bool))
    seconds = durations(whole, NODE)
    rule = rule_of(RlHold(patience=0.0), whole)
    assert rule.order.tolist() == np.minimum(seconds.cpu_s, seconds.gpu_s.min(axis=1)).tolist()
    assert rule_of(RlHold(patience=0.0), STREAM).order[0] < rule.order[0]


def test_what_is_learned_beats_shortest_first_where_that_is_poor() -> None:
    ratios = []
    for seed in (11, 12, 13):
        loaded, means = at_load(preset("heavy"), NODE, 0.7, seed, 4000), []
        for strategy in (RlHold(), ShortestFirst()):
            columns = run_held_batch(loaded.batch, NODE, rule_of(strategy, loaded.batch), seconds=loaded.seconds)
            means.append(float(np.mean(columns.latency_s[400:])))
        ratios.append(means[0] / means[1])
    assert np.mean(ratios) < 0.8


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
    streams = [crowded, *(at_load(preset("mixed"), NODE, 0.95, seed, 6000) for seed in (8_000_201, 8_000_202))]
    usual = [figures(one, "latency") for one in streams]
    for objective, share in (("slowdown", 0.8), ("p99", 1.0), ("energy", 1.0), ("cost", 1.0)):
        ratios = [figures(one, objective)[objective] / was[objective] for one, was in zip(streams, usual, strict=True)]
        assert np.mean(ratios) <= share, objective


def test_an_unknown_objective_is_refused_in_a_sentence() -> None:
    with pytest.raises(PlanError, match=r"rl_hold: objective = 'joy' must be one of auto, latency, makespan, slowdown"):
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
    assert model.settings[: len(PLAIN)] == PLAIN


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "has version 2; this program reads version 3"),
        ({"settings": []}, "holds no settings"),
        ({"settings": [[True, -1.0, None, 2.0, None, 0.0, 0.0, 1.0, 0.0]]}, "a setting outside its range"),
        ({"settings": [[True, 0.0, None, 2.0, None, 0.5, 0.0, 1.0, 0.0]]}, "a setting outside its range"),
        ({"settings": [[True, 0.0, None, 2.0, None, 0.0, 0.0, 1.0, 2.0]]}, "a setting outside its range"),
        ({"settings": [[True, "x", None, 2.0, None, 0.0, 0.0, 1.0, 0.0]]}, "a setting that is none"),
        ({"settings": [[True, 0.0, None, 2.0, None, 0.0, 0.0]]}, "a setting that is none"),
        ({"weights": [[1.0]]}, "does not hold 43 x 55 finite weights"),
        ({"patience": -3}, "does not hold a patience of at least 0"),
        ({"aging": "old"}, "does not hold an aging of at least 0"),
        ({"scale": [0.0] * 9}, "holds a scale that is not above 0"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path: Path, change: dict[str, object], sentence: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**hold_document(load_hold()), **change}))
    with pytest.raises(ModelError, match=sentence):
        RlHold(model=str(path))
