"""What is learned of devices is doubted where it is asked for: no further apart than is plausible, and no bit else."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core import RaceContext, Task
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED
from hybrid_ml_scheduler.core.protocols import Doubts
from hybrid_ml_scheduler.physics import Gpu, Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import known_at_load
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.studies.running import run_known
from hybrid_ml_scheduler.workload import preset

NODE = Node(gpus=(Gpu(), Gpu(speed=3.0)))
PLAIN_TASK = Task(1, 300.0, 0.7, 90.0, 0.0, kind="a")
MEASURED_TASK = PLAIN_TASK._replace(cpu_time=80.0, gpu_time=20.0)


def taught(ratios: tuple[float, ...], apart: float | None = None) -> LearnedEstimator:
    """An estimator that has seen thirty tasks of a kind on every type of device."""
    estimator = LearnedEstimator(NODE)
    for _ in range(30):
        for place, ratio in enumerate(ratios):
            estimator.model.observe("a", place, ratio)
    if apart is not None:
        estimator.doubt(apart)
    return estimator


def factors(estimator: LearnedEstimator, task: Task) -> np.ndarray:
    told, believed = PhysicsEstimator(NODE).seconds(task), estimator.seconds(task)
    return np.array([believed.cpu_s / told.cpu_s, *np.divide(believed.gpu_s, told.gpu_s)])


@pytest.mark.parametrize("task", [PLAIN_TASK, MEASURED_TASK], ids=["formula", "times of its own"])
def test_devices_are_drawn_together_around_what_they_have_in_common(task: Task) -> None:
    free, drawn = factors(taught((0.01, 50.0, 2.0)), task), factors(taught((0.01, 50.0, 2.0), 2.0), task)
    assert free[1] / free[0] > 1000.0
    assert drawn[1] / drawn[0] == pytest.approx(math.exp(2.0))
    assert np.log(drawn).mean() == pytest.approx(np.log(free).mean())
    assert np.all(np.diff(drawn[np.argsort(free)]) > 0.0), "the order of the devices stays"


@pytest.mark.parametrize("task", [PLAIN_TASK, MEASURED_TASK], ids=["formula", "times of its own"])
def test_what_is_plausible_is_believed_to_the_same_bits(task: Task) -> None:
    assert taught((0.5, 1.7, 1.1), 2.0).seconds(task) == taught((0.5, 1.7, 1.1)).seconds(task)


def test_seconds_that_were_computed_for_a_whole_batch_are_doubted_as_well() -> None:
    doubting, whole = taught((0.01, 50.0, 2.0), 2.0), taught((0.01, 50.0, 2.0), 2.0)
    whole.remember(PLAIN_TASK, PhysicsEstimator(NODE).seconds(PLAIN_TASK))
    assert whole.seconds(PLAIN_TASK) == doubting.seconds(PLAIN_TASK)


def test_who_doubts_lends_no_formula_that_compiled_code_would_believe() -> None:
    assert taught((1.0, 1.0, 1.0)).lend_formula(PLAIN_TASK) is not None
    assert taught((1.0, 1.0, 1.0), 2.0).lend_formula(PLAIN_TASK) is None


def test_rl_hold_doubts_what_is_learned_and_nothing_that_is_told() -> None:
    told = PhysicsEstimator(NODE)
    assert not isinstance(told, Doubts)
    learned = taught((0.01, 50.0, 2.0))
    RlHold().prepare(RaceContext(estimator=learned, seed=0))
    assert learned.seconds(PLAIN_TASK) == taught((0.01, 50.0, 2.0), 2.0).seconds(PLAIN_TASK)


def test_where_devices_differ_more_than_is_plausible_a_restored_run_goes_on_to_the_same_bits() -> None:
    law = preset("unknown").with_values({"num_tasks": 160})
    known = known_at_load(law, Node(), 0.8, 3, truth=Truth(kind_spread=2.5))
    through = run_known(RlHold(), known, LEARNED).finish_s

    class Trusting(RlHold):
        def prepare(self, context: RaceContext) -> None:
            super().prepare(context)
            if isinstance(context.estimator, Doubts):
                context.estimator.doubt(math.inf)

    assert run_known(Trusting(), known, LEARNED).finish_s.tolist() != through.tolist()
    simulation, outcomes = Simulation(known.node, RlHold(), seed=known.seed, learned=known.estimator()), []
    told = known.facts_for(LEARNED)
    assert told.factors is not None
    slower = (told.factors * told.batch.duration_factor[:, None]).tolist()
    for row, task in enumerate(told.batch):
        if row == 80:
            state = simulation.capture()
            simulation = Simulation(known.node, RlHold(), seed=known.seed, learned=known.estimator())
            simulation.restore(state)
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, tuple(slower[row]))
    outcomes += simulation.drain()
    finish = {outcome.task_id: outcome.finish_s for outcome in outcomes}
    assert [finish[int(identity)] for identity in told.batch.task_id] == through.tolist()


def test_where_durations_are_told_doubt_changes_nothing() -> None:
    class Shy(RlHold):
        def prepare(self, context: RaceContext) -> None:
            assert not isinstance(context.estimator, Doubts)
            super().prepare(context)

    known = known_at_load(preset("mixed").with_values({"num_tasks": 60}), Node(), 0.8, 3, truth=usual_truth("mixed"))
    assert np.all(np.isfinite(run_known(Shy(), known, EXACT).finish_s))
