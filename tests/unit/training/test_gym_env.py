"""The environment for other people's agents."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.training.gym_env import ENV_ID, HybridSchedulerEnv


def test_it_passes_gymnasiums_own_check() -> None:
    check_env(gymnasium.make(ENV_ID, num_tasks=50).unwrapped, skip_render_check=True)


def test_the_same_seed_gives_the_same_episode() -> None:
    def rewards(seed: int) -> list[float]:
        env = HybridSchedulerEnv(num_tasks=40)
        env.reset(seed=seed)
        return [env.step(np.int64(step % 5))[1] for step in range(40)]

    assert rewards(1) == rewards(1)
    assert rewards(1) != rewards(2)


def test_an_episode_ends_with_its_last_task_and_rewards_are_latencies() -> None:
    env = HybridSchedulerEnv(num_tasks=10, num_gpus=2)
    env.reset(seed=3)
    for step in range(10):
        _, reward, terminated, truncated, outcome = env.step(np.int64(1))
        assert reward == -outcome["latency_s"]
        assert not terminated
        assert truncated == (step == 9)


def test_wrong_figures_are_refused() -> None:
    with pytest.raises(PlanError, match="load"):
        HybridSchedulerEnv(load=0.0)
