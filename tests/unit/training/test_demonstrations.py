"""Pre-training from demonstrations: true rewards, no splits, the same seed the same weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hybrid_ml_scheduler.core import RaceContext
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent
from hybrid_ml_scheduler.schedulers.agents.sight import Demonstration, demonstrated_action
from hybrid_ml_scheduler.training.demonstrations import demonstrations
from hybrid_ml_scheduler.workload import generate, preset

NODE = Node()


def lessons(teacher: str, count: int = 300, **options: float) -> list[Demonstration]:
    batch = generate(preset("mixed").with_values({"num_tasks": count}), 1_000_003)
    return demonstrations(create(teacher, options), batch, NODE, 1_000_003)


def agent() -> RlAgent:
    made = RlAgent(model=None, learning_rate=1e-3)
    made.prepare(RaceContext(estimator=PhysicsEstimator(NODE), seed=4))
    return made


def test_lessons_hold_what_the_teacher_saw_and_what_came_of_it() -> None:
    given = lessons("earliest_device")
    assert len(given) == 300
    for lesson in given:
        wanted = create("earliest_device").decide(lesson.task, lesson.cluster)
        assert wanted.gpu_fraction == lesson.decision.gpu_fraction
        assert lesson.outcome.task_id == lesson.task.task_id
        assert lesson.outcome.ready_s == lesson.cluster.now_s


def test_rewards_in_the_replay_are_those_that_were_earned() -> None:
    given = lessons("earliest_device")
    learner = agent()
    learner.pretrain(given, updates=0)
    rewards = {round(learner.sight.reward(one.outcome), 9) for one in given}
    assert len(rewards) > 200
    assert learner.dqn.replay.size >= 290


def test_pre_training_brings_q_closer_to_the_returns_and_is_reproducible() -> None:
    given = lessons("oracle", 400, step=1.0)
    first, second = agent(), agent()
    before = mean_error(first, given)
    for learner in (first, second):
        learner.pretrain(given, updates=1500)
    assert np.array_equal(first.dqn.weights, second.dqn.weights)
    assert mean_error(first, given) < 0.8 * before


def mean_error(learner: RlAgent, given: list[Demonstration]) -> float:
    """How far Q of what the teacher did lies from the discounted return that really followed."""
    horizon = learner.options.horizon_s
    total, later, returns = 0.0, given[-1].cluster.now_s, []
    for one in reversed(given):
        total = learner.sight.reward(one.outcome) + math.exp((one.cluster.now_s - later) / horizon) * total
        later = one.cluster.now_s
        returns.append(total)
    errors = []
    for one, wanted in zip(given, reversed(returns), strict=True):
        learner.sight.look(one.task, one.cluster, learner.dqn, remember=False)
        errors.append(abs(float(learner.sight.q[demonstrated_action(one, learner.sight.order)]) - wanted))
    return float(np.mean(errors))


def test_a_teacher_that_splits_is_refused() -> None:
    with pytest.raises(SchedulerError, match="whole devices"):
        agent().pretrain(lessons("oracle"), updates=1)


def test_too_few_lessons_are_refused() -> None:
    with pytest.raises(SchedulerError, match="fewer than one batch"):
        agent().pretrain(lessons("earliest_device", 20), updates=1)
