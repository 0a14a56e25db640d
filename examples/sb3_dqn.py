"""Train Stable-Baselines3's DQN on the placement problem and compare it with two simple rules.

Needs the test extra: pip install 'hybrid-ml-scheduler[test]'. Then: python examples/sb3_dqn.py --steps 20000
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN

from hybrid_ml_scheduler.training.gym_env import ENV_ID


def mean_latency(choose: Callable[[np.ndarray], int], seed: int, tasks: int) -> float:
    """Play one episode and return the mean latency of its tasks."""
    env = gymnasium.make(ENV_ID, load=0.5, num_tasks=tasks)
    state, _ = env.reset(seed=seed)
    latencies, ended = [], False
    while not ended:
        state, _, _, ended, outcome = env.step(np.int64(choose(state)))
        latencies.append(outcome["latency_s"])
    return float(np.mean(latencies))


def main() -> None:
    """Train, then play the same unseen workload with the agent and with the rules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="training steps")
    parser.add_argument("--tasks", type=int, default=2_000, help="tasks of the final comparison")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    env = gymnasium.make(ENV_ID, load=0.5)
    agent = DQN("MlpPolicy", env, seed=1, learning_starts=500, policy_kwargs={"net_arch": [256, 256]}, gamma=0.95)
    agent.learn(arguments.steps)
    players: dict[str, Callable[[np.ndarray], int]] = {
        "stable-baselines3 DQN": lambda state: int(agent.predict(state, deterministic=True)[0]),
        "always the soonest GPU": lambda _: 1,
        "always the CPU": lambda _: 0,
    }
    for name, choose in players.items():
        print(f"{name:24} mean latency {mean_latency(choose, 12345, arguments.tasks):8.3f} s")


if __name__ == "__main__":
    main()
