"""Hybrid ML: believed seconds, a forest's correction where it helps, and the way of placing that serves best."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core import RaceContext, Task, stream
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.learning.time_forest import TIME_FEATURES, TimeForest, fit_time_forest, time_row
from hybrid_ml_scheduler.physics import Gpu, Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.truth import Drift, Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, known_at_load
from hybrid_ml_scheduler.schedulers import check_scheduler, create
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml import HybridMl
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.schedulers.holding.overruns import expect_overruns, note_due
from hybrid_ml_scheduler.studies.race import run_known
from hybrid_ml_scheduler.workload import generate, preset

HIDDEN = Truth(kind_spread=0.5)


def unknown(tasks: int = 2500, load: float = 0.8, truth: Truth = HIDDEN, node: Node | None = None) -> KnownTasks:
    law = preset("unknown").with_values({"num_tasks": tasks})
    return known_at_load(law, node or Node(), load, 11, truth=truth)


def latency(tasks: KnownTasks, name: str, level: str) -> float:
    columns = run_known(create(name), tasks, level)  # type: ignore[arg-type]
    return float((columns.finish_s - tasks.batch.arrival_time)[len(tasks.batch) // 10 :].mean())


def test_it_keeps_the_contract_also_where_gpus_differ() -> None:
    check_scheduler(HybridMl)


def test_starting_ignorant_it_leaves_the_best_told_rule_behind() -> None:
    tasks = unknown()
    assert latency(tasks, "hybrid_ml", "learned") < 0.5 * latency(tasks, "earliest_finish", "exact")


def test_where_the_formula_is_the_truth_nothing_is_lost() -> None:
    law = preset("unknown").with_values({"num_tasks": 2000, "noise_sigma": 0.0})
    for load, most in ((0.5, 1.02), (0.8, 1.0)):
        tasks = known_at_load(law, Node(), load, 11, truth=Truth())
        assert latency(tasks, "hybrid_ml", "learned") <= most * latency(tasks, "earliest_finish", "exact")


def test_after_a_drift_it_is_soon_as_good_as_one_that_is_told() -> None:
    tasks = unknown(truth=Truth(kind_spread=0.5, drift=(Drift(at_task=1200),)), load=0.5)
    late = slice(1500, 2500)
    means = [
        float((run_known(create("hybrid_ml"), tasks, level).finish_s - tasks.batch.arrival_time)[late].mean())
        for level in ("learned", "exact")
    ]
    assert means[0] <= 1.15 * means[1]


def test_it_serves_nodes_of_other_sizes_and_devices() -> None:
    for node in (Node.uniform(1), Node(gpus=(Gpu(), Gpu(speed=3.0), Gpu(memory_mb=100.0)))):
        tasks = unknown(tasks=1500, node=node)
        assert latency(tasks, "hybrid_ml", "learned") < 1.1 * latency(tasks, "earliest_finish", "learned")


def test_a_checkpoint_goes_on_to_the_same_bits() -> None:
    tasks = unknown(tasks=600, load=1.1)
    told = tasks.facts_for("learned")
    assert told.factors is not None
    duration_factors = (told.factors * told.batch.duration_factor[:, None]).tolist()

    def fresh() -> Simulation:
        return Simulation(tasks.node, HybridMl(), seed=1, recall=0, learned=tasks.estimator())

    def go(simulation: Simulation, rows: range) -> list[float]:
        done = []
        for row in rows:
            task = told.batch.task(row)
            done += simulation.advance(task.arrival_time)
            simulation.offer(task, tuple(duration_factors[row]))
        return [outcome.finish_s for outcome in done]

    whole, begun, resumed = fresh(), fresh(), fresh()
    straight = go(whole, range(600)) + [outcome.finish_s for outcome in whole.drain()]
    first = go(begun, range(350))
    resumed.restore(pickle.loads(pickle.dumps(begun.capture())))
    assert first + go(resumed, range(350, 600)) + [outcome.finish_s for outcome in resumed.drain()] == straight


def test_the_limits_in_force_survive_a_checkpoint() -> None:
    context = RaceContext(estimator=PhysicsEstimator(Node()), seed=1)
    strategy, other = HybridMl(), HybridMl()
    for one in (strategy, other):
        one.prepare(context)
    strategy._history.chosen, strategy._mean_s = 4, 2.0
    strategy._follow()
    strategy._mean_s = 3.0  # tasks that started at once came meanwhile
    other.restore(pickle.loads(pickle.dumps(strategy.capture())))
    assert other._limits_s.tolist() == strategy._limits_s.tolist()


@pytest.mark.parametrize("state", [{"rows": [], "labels": []}, {"version": 2, "rehearsal": [], "ahead_s": []}])
def test_a_state_of_what_had_the_name_before_is_refused_with_a_sentence(state: dict[str, object]) -> None:
    strategy = HybridMl()
    with pytest.raises(SchedulerError, match=r"another algorithm that had this name .*; start a new run"):
        strategy.restore(state)


def test_a_state_of_the_version_before_goes_on() -> None:
    strategy, other = HybridMl(), HybridMl()
    simulation = Simulation(Node(), strategy, seed=1)
    for task in unknown(tasks=200).batch:
        simulation.advance(task.arrival_time)
        simulation.offer(task, 1.0)
    state = pickle.loads(pickle.dumps(strategy.capture()))
    other.prepare(RaceContext(estimator=PhysicsEstimator(Node()), seed=1))
    older = {**state, "version": 2, "rehearsal": [[0.0]], "ahead_s": [0.0]}
    older["known"] = {task: (*one[:6], 0.0, 0.0, one[6], 0.0) for task, one in state["known"].items()}
    other.restore(older)
    assert repr(other.capture()) == repr(strategy.capture())


def observations(count: int, *, sense: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(5, "test")
    rows = rng.random((count, len(TIME_FEATURES)))
    noise = 0.2 * rng.standard_normal(count)
    return rows, noise + (np.where(rows[:, 0] > 0.5, 0.8, -0.8) if sense else 0.0)


def test_a_forest_counts_as_far_as_it_helped_on_what_it_was_not_grown_on() -> None:
    helpful, idle = (fit_time_forest(*observations(400, sense=sense), stream(1, "fit")) for sense in (True, False))
    assert helpful.share == 1.0
    assert helpful.error < 0.2 * helpful.plain_error
    assert idle.share == 0.0
    rows, logs = observations(400, sense=True)
    assert np.corrcoef(helpful.predict(rows), logs)[0, 1] > 0.9
    again = TimeForest.from_payload(pickle.loads(pickle.dumps(helpful.payload())))
    assert np.array_equal(again.predict(rows), helpful.predict(rows))


def test_aging_bounds_how_long_a_task_may_be_passed_over() -> None:
    tasks = unknown(tasks=1500, load=1.05)
    waits = [
        (run_known(HybridMl(aging=aging), tasks, "learned").start_s - tasks.batch.arrival_time).max()
        for aging in (0.0, 4.0)
    ]
    assert waits[1] < 0.8 * waits[0]


def test_a_part_that_overruns_is_expected_to_go_on_for_as_long_as_it_has_overrun() -> None:
    due_s, idle = np.array([7.0, 4.0, 9.0, 1.0]), np.array([False, False, False, True])
    backlog = np.array([0.0, 0.0, 2.0, 0.0])
    expect_overruns(10.0, backlog, idle, due_s)
    assert backlog.tolist() == [3.0, 6.0, 2.0, 0.0]
    assert due_s.tolist() == [7.0, 4.0, 12.0, 1.0]
    note_due(10.0, backlog, backlog + np.array([0.0, 5.0, 0.0, 0.0]), due_s)
    assert due_s.tolist() == [7.0, 21.0, 12.0, 1.0]


def test_in_a_graph_tasks_of_about_the_same_size_go_as_they_came() -> None:
    sizes = (3.0, 2.0, 1.5, 2.5, 0.1)  # of tasks that follow a first one, and all become ready when it ends
    told = [Task(0, 10.0, 0.5, 1.0, 0.0, cpu_time=1.0, gpu_time=9.0, divisible=False)]
    told += [
        Task(1 + row, 10.0, 0.5, 1.0, 0.0, cpu_time=size, gpu_time=900.0, divisible=False, dependencies=(0,))
        for row, size in enumerate(sizes)
    ]
    outcomes = Simulation(Node(), HybridMl(objective="latency"), seed=1).run((task, 1.0) for task in told)
    assert [outcome.task_id for outcome in sorted(outcomes, key=lambda one: one.finish_s)] == [0, 5, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["hybrid_ml", "rl_hold"])
def test_a_batch_is_planned_for_its_makespan_unless_the_option_says_latency(name: str) -> None:
    law = preset("mixed").with_values({"num_tasks": 300, "arrival_law": "batch"})
    tasks = KnownTasks(batch=generate(law, 3), node=Node(), truth=Truth(), seed=3)
    auto, latency_first = (
        run_known(create(name, options), tasks, "exact").finish_s for options in ({}, {"objective": "latency"})
    )
    assert auto.max() < 0.95 * latency_first.max()
    assert latency_first.mean() < auto.mean()


def test_a_strategy_that_waits_is_told_the_exact_seconds_of_every_waiting_task() -> None:
    tasks = unknown(tasks=1200, truth=Truth(kind_spread=1.0), load=0.9)
    assert latency(tasks, "hybrid_ml", "exact") < 1.15 * latency(tasks, "sjf", "exact")


def test_tasks_that_fit_no_gpu_do_not_keep_others_from_idle_gpus() -> None:
    told = [
        Task(row, 10.0, 0.5, 9000.0, 0.0, cpu_time=50.0, gpu_time=0.1, divisible=False, kind="large")
        for row in range(60)
    ]
    told += [Task(60 + row, 10.0, 0.5, 1.0, 1.0, cpu_time=50.0, gpu_time=5.0, divisible=False) for row in range(8)]
    outcomes = Simulation(Node(), HybridMl(aging=1.0, objective="latency"), seed=1).run((task, 1.0) for task in told)
    assert max(one.finish_s for one in outcomes if one.task_id >= 60) < 20.0


def test_nobody_waits_for_ever_behind_a_task_that_takes_a_thousand_times_what_was_believed() -> None:
    cpu_s = np.full(60, 1.0)
    cpu_s[5] = 5000.0  # on the CPU, where everybody would like to go; a GPU takes four times as long
    told = [
        Task(row, 10.0, 0.5, 1.0, float(row), cpu_time=1.0, gpu_time=4.0, divisible=False) for row in range(len(cpu_s))
    ]
    simulation = Simulation(Node(), HybridMl(), seed=1, recall=0)
    outcomes = simulation.run((task, float(factor)) for task, factor in zip(told, cpu_s, strict=True))
    latency_s = sorted(outcome.finish_s - told[outcome.task_id].arrival_time for outcome in outcomes)
    assert latency_s[-2] < 20.0


def test_the_reasons_of_a_held_task_tell_who_goes_first_and_leave_nothing_behind() -> None:
    tasks = unknown(tasks=500)
    strategy = HybridMl()
    simulation = Simulation(tasks.node, strategy, seed=1, recall=0, learned=tasks.estimator())
    simulation.run((task, 1.0) for task in tasks.facts_for("learned").batch)
    task = Task(9999, 500.0, 0.5, 20.0, simulation.now_s, kind="kind-1")
    before = pickle.dumps(strategy.capture())
    reasons = strategy.explain(task, simulation.cluster.view(simulation.now_s))
    assert pickle.dumps(strategy.capture()) == before
    assert {"held", "overdue", "setting", "believed_s", "corrected_s"} <= set(reasons)
    assert set(reasons["corrected_s"]) == {"cpu", "gpu_0"}


def test_the_guard_judges_on_observations_that_neither_forest_was_grown_on() -> None:
    strategy = HybridMl(retrain_every=50)
    tasks = unknown(tasks=400)
    run_known(strategy, tasks, "learned")
    data = strategy.training_data()
    assert len(data.held_logs) == 50
    good = strategy.fit(data)
    poisoned = TimeForest(forest=good.forest, share=50.0, samples=1, error=1.0, plain_error=1.0)
    refused = strategy.judge(poisoned, data)
    assert refused is not None
    assert not refused.accepted
    accepted = strategy.judge(good, data)
    assert accepted is not None
    assert accepted.error <= 1.05 * accepted.present_error


def test_a_forest_that_finds_nothing_is_grown_ever_more_seldom() -> None:
    strategy = HybridMl(retrain_every=10)
    run_known(strategy, unknown(tasks=1500), "learned")
    assert 3 <= strategy.training_data().generation <= 40


def test_reasons_tell_what_is_estimated_and_corrected() -> None:
    tasks = unknown(tasks=500)
    strategy, told = HybridMl(), tasks.facts_for("learned")
    simulation = Simulation(tasks.node, strategy, seed=1, recall=0, learned=tasks.estimator())
    simulation.run((task, 1.0) for task in told.batch)
    task = Task(9999, 500.0, 0.5, 20.0, simulation.now_s, kind="kind-1")
    before = pickle.dumps(strategy.capture())
    reasons = strategy.explain(task, simulation.cluster.view(simulation.now_s))
    assert pickle.dumps(strategy.capture()) == before
    assert set(reasons["believed_s"]) == {"cpu", "gpu_0"}
    assert simulation.learned is not None
    words = simulation.learned.belief_words(task)
    assert words["gpu"].startswith("believed ")
    assert "runs of this kind on a GPU" in words["gpu"]


def test_the_classic_one_is_a_strategy_of_its_own_and_a_mode_for_its_old_name() -> None:
    assert isinstance(create("hybrid_ml_share"), HybridMlShare)
    assert isinstance(create("hybrid_ml", {"mode": "share", "energy_weight": 0.2}), HybridMlShare)
    assert isinstance(create("hybrid_ml", {"mode": "time"}), HybridMl)
    with pytest.raises(SchedulerError, match=r'no mode "at_once" since .* it lets tasks wait in every command'):
        create("hybrid_ml", {"mode": "at_once"})
    with pytest.raises(SchedulerError, match="no mode 'shares'; did you mean 'share'"):
        create("hybrid_ml", {"mode": "shares"})
    with pytest.raises(SchedulerError, match="no option 'energy_weight'"):
        create("hybrid_ml", {"energy_weight": 0.2})


@pytest.mark.parametrize("options", [{"window": 10}, {"retrain_every": 0}, {"objective": "joy"}])
def test_options_that_cannot_be_are_refused(options: dict[str, int | str]) -> None:
    with pytest.raises(PlanError, match="hybrid_ml"):
        HybridMl(**options)  # type: ignore[arg-type]


def test_a_decision_is_taken_with_the_seconds_that_the_forest_makes_of_the_believed_ones() -> None:
    tasks = unknown(tasks=60)
    strategy, estimator = HybridMl(), tasks.estimator()
    simulation = Simulation(tasks.node, strategy, seed=1, recall=0, learned=estimator)
    simulation.run((task, 1.0) for task in tasks.batch)
    rows, logs = observations(400, sense=True)
    forest = fit_time_forest(rows * 100.0, logs, stream(1, "fit"))
    strategy.activate(forest, strategy.training_data())
    task = Task(9999, 60.0, 0.5, 20.0, simulation.now_s, kind="kind-1")
    told = strategy.explain(task, simulation.cluster.view(simulation.now_s))
    kind = list(dict.fromkeys(one.kind for one in tasks.batch)).index("kind-1")  # in order of appearance
    for device, name in enumerate(("cpu", "gpu_0")):
        believed = told["believed_s"][name]
        row = np.array([time_row(60.0, 0.5, 20.0, kind, believed, device)])
        assert told["corrected_s"][name] == pytest.approx(believed * np.exp(forest.predict(row)[0]), rel=1e-12)
        assert told["corrected_s"][name] != believed


def test_formula_and_belief_in_one_call_are_the_same_to_the_bit_as_one_after_the_other() -> None:
    for node in (Node(), Node(gpus=(Gpu(), Gpu(speed=3.0), Gpu(dense_speed=2.0, stream_speed=1.5)))):
        together, apart = LearnedEstimator(node), LearnedEstimator(node)
        for estimator in (together, apart):
            estimator.model.observe("a", 1, 3.0)
        for kind, size in (("a", 300.0), ("b", 4000.0)):
            task = Task(1, size, 0.7, 90.0, 0.0, kind=kind)
            apart.remember(task, PhysicsEstimator(node)._computed(task))
            assert together.seconds(task) == apart.seconds(task)
            assert together.true_parts(task, 0.4, 0) == apart.true_parts(task, 0.4, 0)


@pytest.mark.parametrize("gpus", [(Gpu(),) * 4, (Gpu(), Gpu(speed=3.0), Gpu(memory_mb=100.0))])
def test_an_estimator_that_lends_its_formula_is_believed_to_the_same_bits(gpus: tuple[Gpu, ...]) -> None:
    tasks = unknown(tasks=900, load=0.6, node=Node(gpus=gpus))
    told = tasks.facts_for("learned")
    assert told.factors is not None
    duration_factors = (told.factors * told.batch.duration_factor[:, None]).tolist()
    found = []
    for lends in (True, False):
        simulation = Simulation(tasks.node, HybridMl(), seed=1, recall=0, learned=tasks.estimator())
        assert isinstance(simulation.scheduler, HybridMl)
        assert simulation.scheduler._lender is not None
        if not lends:
            simulation.scheduler._lender = None
        outcomes = simulation.run((told.batch.task(row), tuple(duration_factors[row])) for row in range(900))  # type: ignore[misc]
        found.append(pickle.dumps([tuple(outcome) for outcome in outcomes]))
    assert found[0] == found[1]


def test_what_was_lent_is_asked_for_anew_once_something_was_learned() -> None:
    estimator, task = LearnedEstimator(Node()), Task(1, 300.0, 0.7, 90.0, 0.0, kind="a")
    before = estimator.seconds(task)
    lent = estimator.lend_formula(task)
    assert lent is not None
    lent[0][-1][:] = 1.0  # whoever borrows it fills it in
    assert estimator.seconds(task).cpu_s == 1.0
    estimator.lend_formula(task)
    estimator.look_again()
    assert estimator.seconds(task) == before
    for number in range(40):  # the table of kinds grows, and moves
        estimator.model.observe(f"kind-{number}", 0, 2.0)
    lent = estimator.lend_formula(task)
    assert lent is not None
    assert lent[0][8] is estimator.model.cells
    assert estimator.lend_formula(task._replace(cpu_time=3.0)) is None
