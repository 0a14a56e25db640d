"""The Double DQN learner: it learns, twice the same, and continues exactly."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.learning import DoubleDqn, DqnSettings, Replay, Transition

ACTIONS = 4
SETTINGS = DqnSettings(hidden=32, replay=500, learning_rate=3e-3, quiet_head=False)


def _one_hot(which: int) -> np.ndarray:
    state = np.zeros(ACTIONS, dtype=np.float32)
    state[which] = 1.0
    return state


def _trained(seed: int, tasks: int, settings: DqnSettings = SETTINGS) -> DoubleDqn:
    """The identity problem: in state i only action i is rewarded."""
    rng = stream(seed, "test", "identity")
    learner = DoubleDqn(ACTIONS, ACTIONS, stream(seed, "test", "dqn"), settings)
    _learn(learner, rng, tasks)
    return learner


def _learn(learner: DoubleDqn, rng: np.random.Generator, tasks: int) -> None:
    for _ in range(tasks):
        where, action, then = (int(value) for value in rng.integers(0, ACTIONS, 3))
        reward = 1.0 if action == where else 0.0
        nothing = np.zeros(ACTIONS, dtype=np.float32)
        learner.replay.add(Transition(_one_hot(where), 1.0, action, reward, 0.5, _one_hot(then), 1.0, nothing))
        if learner.replay.size >= learner.settings.batch:
            learner.update()


def test_it_learns_the_identity() -> None:
    learner = _trained(7, 900)
    for where in range(ACTIONS):
        assert int(np.argmax(learner.q(_one_hot(where)))) == where


def test_training_twice_with_one_seed_gives_the_same_weights() -> None:
    assert np.array_equal(_trained(3, 300).weights, _trained(3, 300).weights)
    assert not np.array_equal(_trained(3, 300).weights, _trained(4, 300).weights)


def test_a_restored_learner_equals_an_uninterrupted_one() -> None:
    through, rng = DoubleDqn(ACTIONS, ACTIONS, stream(5, "test", "dqn"), SETTINGS), stream(5, "test", "identity")
    _learn(through, rng, 200)
    state, position = through.capture(), rng.bit_generator.state
    _learn(through, rng, 150)

    resumed = DoubleDqn(ACTIONS, ACTIONS, stream(99, "test", "dqn"), SETTINGS)
    resumed.restore(state)
    rng.bit_generator.state = position
    _learn(resumed, rng, 150)
    for name in ("weights", "target", "mean", "square"):
        assert np.array_equal(getattr(resumed, name), getattr(through, name))
    assert resumed.updates == through.updates


def test_the_target_network_follows_every_fifty_updates() -> None:
    learner = _trained(1, 64 + 48)
    assert learner.updates == 49
    assert not np.array_equal(learner.target, learner.weights)
    learner.update()
    assert np.array_equal(learner.target, learner.weights)


def test_a_quiet_head_starts_with_every_q_at_zero() -> None:
    learner = DoubleDqn(ACTIONS, ACTIONS, stream(1, "test"), DqnSettings(hidden=16, replay=10))
    assert np.array_equal(learner.q(_one_hot(2)), np.zeros(ACTIONS, dtype=np.float32))


def test_the_replay_ring_forgets_the_oldest() -> None:
    ring = Replay(3, ACTIONS, ACTIONS)
    for reward in range(5):
        ring.add(Transition(_one_hot(0), 1.0, 0, float(reward), 0.0, _one_hot(0), 1.0, _one_hot(0)))
    assert ring.size == 3
    assert sorted(ring.columns.rewards.tolist()) == [2.0, 3.0, 4.0]
