"""Levels of knowledge: every form of the cluster agrees at each of them, and learning wins back what is hidden."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import RunColumns, Simulation, certificate, run_batch
from hybrid_ml_scheduler.core import ClusterView, Decision, Scheduler, Task
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, LEVELS, SEEN, Level
from hybrid_ml_scheduler.learning import DurationModel
from hybrid_ml_scheduler.physics import CoExecution, Gpu, MemoryRule, Node, durations
from hybrid_ml_scheduler.physics.truth import Drift, Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import plan_from_mapping
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import entrants, race_seed, run_known
from hybrid_ml_scheduler.workload import generate, preset

HIDDEN = Truth(kind_spread=0.5, drift=(Drift(at_task=250),))
ODD_NODE = Node(
    gpus=(Gpu(), Gpu(speed=2.0, memory_mb=200.0)), co_execution=CoExecution.SERIAL, memory_rule=MemoryRule.PAGE
)


class StepByStep:
    """A strategy without its compiled form."""

    name = "step_by_step"

    def __init__(self, inner: Scheduler) -> None:
        self._inner = inner

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return self._inner.decide(task, cluster)


def known(node: Node | None = None, *, tasks: int = 500, graph: float = 0.2, truth: Truth = HIDDEN) -> KnownTasks:
    laws = preset("unknown").with_values({"num_tasks": tasks, "dependency_probability": graph})
    return KnownTasks(batch=generate(laws, 3), node=node or Node(), truth=truth, seed=3)


def same(one: RunColumns, other: RunColumns) -> bool:
    names = ("gpu_fraction", "gpu", "cpu_start_s", "gpu_start_s", "finish_s", "cpu_s", "gpu_s")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("node", [Node(), ODD_NODE], ids=["plain", "odd"])
def test_the_compiled_form_and_the_stepping_form_agree_to_the_last_bit(node: Node, level: Level) -> None:
    tasks = known(node)
    for name in ("earliest_finish", "greedy"):
        compiled = run_known(create(name), tasks, level)
        assert same(compiled, run_known(StepByStep(create(name)), tasks, level)), name


def naive_learned(tasks: KnownTasks) -> list[float]:
    """Latencies of earliest completion on whole devices at `learned`: every queue is walked, every time."""
    model = DurationModel.of_nominal(2, kinds=tasks.batch.kind_names)
    duration_factors = tasks.hidden * tasks.batch.duration_factor[:, None]
    queues: list[list[list[float]]] = [[] for _ in range(tasks.node.num_gpus + 1)]
    running: list[tuple[float, int, str, int, float]] = []
    latencies = []
    for row, task in enumerate(tasks.batch):
        now = task.arrival_time
        for done in sorted(one for one in running if one[0] <= now):
            running.remove(done)
            model.observe(done[2], done[3], done[4])
        nominal = (float(tasks.nominal.cpu_s[row]), float(tasks.nominal.gpu_s[row, 0]))
        believed = [
            seconds * float(model.factors(task.kind, np.ones(2))[place]) for place, seconds in enumerate(nominal)
        ]
        ends = []
        for queue in queues:
            queue[:] = [part for part in queue if part[1] > now]
            first = max(now, queue[0][0] + queue[0][2]) if queue else now
            ends.append(max(first, queue[-1][3] + (first - queue[0][3])) if queue else now)
        totals = [end - now + believed[device > 0] for device, end in enumerate(ends)]
        device = totals.index(min(totals))
        place = int(device > 0)
        start = max(queues[device][-1][1] if queues[device] else now, now)
        took = nominal[place] * float(duration_factors[row, place])
        behind = queues[device][-1][3] if queues[device] else now
        promised = behind + believed[place]
        queues[device].append([start, start + took, believed[place], promised])
        running.append((start + took, row, task.kind, place, took / nominal[place]))
        latencies.append(start + took - now)
    return latencies


def test_a_naive_walk_through_every_queue_gives_the_same_latencies_to_the_last_bit() -> None:
    tasks = known(graph=0.0, truth=Truth(kind_spread=0.5))
    columns = run_known(create("earliest_device"), tasks, "learned")
    assert (columns.finish_s - tasks.batch.arrival_time).tolist() == naive_learned(tasks)


def test_a_learning_run_goes_on_to_the_same_bits_from_a_checkpoint() -> None:
    tasks = known(graph=0.0)
    told = tasks.facts_for("learned")
    assert told.factors is not None
    duration_factors = (told.factors * told.batch.duration_factor[:, None]).tolist()

    def fresh() -> Simulation:
        return Simulation(tasks.node, create("earliest_finish"), recall=0, learned=tasks.estimator())

    def go(simulation: Simulation, rows: range) -> list[float]:
        done = []
        for row in rows:
            task = told.batch.task(row)
            done += simulation.advance(task.arrival_time)
            simulation.offer(task, tuple(duration_factors[row]))
        return [outcome.finish_s for outcome in done]

    whole, begun = fresh(), fresh()
    straight = go(whole, range(500)) + [outcome.finish_s for outcome in whole.drain()]
    first = go(begun, range(300))
    resumed = fresh()
    resumed.restore(pickle.loads(pickle.dumps(begun.capture())))
    rest = go(resumed, range(300, 500)) + [outcome.finish_s for outcome in resumed.drain()]
    assert first + rest == straight


def test_where_the_formula_is_the_truth_exact_and_nominal_are_the_run_of_old() -> None:
    tasks = replace(known(truth=Truth()), nominal_backlogs=SEEN)
    old = run_batch(tasks.batch, tasks.node, create("earliest_finish").rule(tasks.batch))  # type: ignore[attr-defined]
    assert same(run_known(create("earliest_finish"), tasks, "exact"), old)
    assert same(run_known(create("earliest_finish"), tasks, "nominal"), old)
    booked = run_known(create("earliest_finish"), replace(tasks, nominal_backlogs=ESTIMATED), "nominal")
    assert not same(booked, old), "the luck of single tasks is not seen in estimated backlogs"


def test_a_strategy_that_holds_sees_devices_come_free_at_nominal_too() -> None:
    tasks = known()
    for name in ("sjf", "rl_hold"):
        estimated = run_known(create(name), tasks, "nominal")
        assert same(estimated, run_known(create(name), replace(tasks, nominal_backlogs=SEEN), "nominal")), name


def test_learning_wins_back_nearly_all_that_not_knowing_costs() -> None:
    tasks = known(tasks=8000, graph=0.0, truth=Truth(kind_spread=0.5))
    means = {
        level: float((run_known(create("earliest_finish"), tasks, level).finish_s - tasks.batch.arrival_time).mean())
        for level in LEVELS
    }
    assert means["nominal"] > 1.2 * means["exact"]
    assert means["learned"] < 1.05 * means["exact"]


def test_the_certificate_is_computed_from_the_truth() -> None:
    tasks = known(truth=Truth(kind_spread=0.8))
    bound = certificate(tasks.batch, tasks.node, tasks.true).makespan_s
    assert bound != certificate(tasks.batch, tasks.node, durations(tasks.batch, tasks.node)).makespan_s
    for level in LEVELS:
        assert np.nanmax(run_known(create("earliest_finish"), tasks, level).finish_s) >= bound


def test_one_strategy_may_race_itself_at_other_levels_with_the_same_options() -> None:
    plan = plan_from_mapping(
        {
            "workload": {"preset": "unknown", "num_tasks": 300},
            "knowledge": {"level": "learned"},
            "schedulers": {
                "race": ["frugal_finish", "frugal_finish@exact", "frugal_finish@nominal", "oracle"],
                "frugal_finish": {"price": 0.5},
            },
        }
    )
    found = entrants(plan)
    assert [(one.name, one.level) for one in found] == [
        ("frugal_finish", "learned"),
        ("frugal_finish@exact", "exact"),
        ("frugal_finish@nominal", "nominal"),
        ("oracle", "exact"),
    ]
    assert [dict(one.options) for one in found[:3]] == [{"price": 0.5}] * 3
    race = race_seed(plan, found, 0)
    assert len({race.summaries[one.name].mean_latency_s for one in found}) == 4
    assert any(note.startswith("hidden_truth: ") for note in race.assumptions)


@pytest.mark.parametrize(
    ("race", "words"),
    [
        (["earliest_finish@leaned"], "did you mean 'learned'"),
        (["oracle@learned"], "always at the level exact"),
        (["earliest_finish@exact", "earliest_finish@exact"], "more than once"),
    ],
)
def test_a_level_that_cannot_be_is_refused(race: list[str], words: str) -> None:
    with pytest.raises(HmsError, match=words):
        entrants(plan_from_mapping({"schedulers": {"race": race}}))


def test_a_plan_that_hides_nothing_keeps_its_digest_and_one_that_does_is_read_back() -> None:
    plain = plan_from_mapping({})
    assert not {"truth", "knowledge"} & set(plain.to_mapping())
    told = plan_from_mapping({"workload": {"preset": "unknown"}, "knowledge": {"level": "nominal"}})
    assert plan_from_mapping(told.to_mapping()).digest == told.digest
    open_book = replace(told, truth=Truth())
    assert plan_from_mapping(open_book.to_mapping()).hidden.is_the_formula
