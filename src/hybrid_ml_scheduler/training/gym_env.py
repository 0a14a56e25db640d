"""The placement problem as a Gymnasium environment, `HybridScheduler-v0`, for other people's agents.

One step places one task. Observation and actions are those of `rl_agent`: action 0 is the CPU, action k the GPU that
would complete the task k-th soonest. The reward is known at once, because durations are as estimated:
-((1 - w) x latency in seconds + w x energy in units of 50 J). An episode is one workload.

    import gymnasium, hybrid_ml_scheduler.training.gym_env
    env = gymnasium.make("HybridScheduler-v0", workload="mixed", load=0.8)
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.loads import at_load
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats, notice
from hybrid_ml_scheduler.schedulers.agents.inputs import cluster_inputs, view
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.training.counterfactuals import whole_columns
from hybrid_ml_scheduler.training.gang_queues import crew_of, fill_backlogs, free_devices, place_task
from hybrid_ml_scheduler.training.rollouts import task_columns
from hybrid_ml_scheduler.workload import preset

__all__ = ["ENV_ID", "HybridSchedulerEnv"]

ENV_ID = "HybridScheduler-v0"
Observation = npt.NDArray[np.float32]
FAR = 100.0  # no observation is beyond this


class HybridSchedulerEnv(gymnasium.Env[Observation, np.int64]):
    """Places the tasks of one generated workload on one CPU and several GPUs."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - the base class declares it so

    def __init__(
        self,
        workload: str = "mixed",
        load: float = 0.8,
        num_tasks: int = 1_000,
        num_gpus: int = 4,
        energy_weight: float = 0.0,
    ) -> None:
        if not 0.0 < load <= 10.0 or num_tasks < 1:
            raise PlanError(f"{ENV_ID}: load = {load:g} must be in (0, 10] and num_tasks = {num_tasks} at least 1.")
        self._node, self._law = Node.uniform(num_gpus), preset(workload)
        self._load, self._count = load, num_tasks
        self._options = AgentOptions(energy_weight=energy_weight)
        self._power_w = np.array([self._node.cpu.power_w, *self._node.gpu_column("power_w")])
        actions = num_gpus + 1
        self.action_space = spaces.Discrete(actions)
        self.observation_space = spaces.Box(0.0, FAR, (cluster_inputs(num_gpus),), np.float32)
        self._state = np.zeros(cluster_inputs(num_gpus), dtype=np.float32)
        self._prior, self._order = np.zeros(actions, dtype=np.float32), np.zeros(actions, dtype=np.int64)
        self._backlog, self._free, self._arrival_stats = (
            np.zeros(actions),
            free_devices(self._node),
            fresh_arrival_stats(),
        )
        self._row = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw a new workload; the same seed gives the same one."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        tasks = at_load(self._law, self._node, self._load, drawn, self._count)
        self._arrival, self._columns = tasks.batch.arrival_time, task_columns(tasks)
        self._seconds, self._device = whole_columns(tasks, self._node)
        self._crew = crew_of(tasks, self._node)
        self._free[:] = 0.0
        self._arrival_stats[:] = fresh_arrival_stats()
        self._row = 0
        return self._look(), {"workload_seed": drawn}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the present task; the next one is observed."""
        chosen = self._order[int(action)]
        on, took = self._device[self._row, chosen], self._seconds[self._row, chosen]
        now, needed = self._arrival[self._row], self._crew.needed[self._row]
        latency = float(place_task(now, on, took, needed, self._crew, self._free) - now)
        energy = float(took * self._power_w[on] * (max(needed, 1) if on > 0 else 1))
        weight = self._options.energy_weight
        reward = -((1.0 - weight) * latency + weight * energy / self._options.joule_unit)
        self._row += 1
        ended = self._row == self._count
        observed = self._state.copy() if ended else self._look()
        return observed, reward, False, ended, {"latency_s": latency, "energy_j": energy, "device": int(on)}

    def _look(self) -> Observation:
        row = self._row
        now = self._arrival[row]
        fill_backlogs(now, self._crew.needed[row], self._crew, self._free, self._backlog)
        size, intensity, memory = self._columns[row]
        load, _, _ = notice(
            now, self._seconds[row].min(), size, intensity, memory, len(self._backlog), self._arrival_stats
        )
        view(
            size, intensity, memory, self._options.energy_weight, load, self._options.joule_unit, False,
            self._seconds[row], self._device[row], self._backlog, self._power_w, self._state, self._prior, self._order,
        )  # fmt: skip
        return self._state.copy()


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:HybridSchedulerEnv")
