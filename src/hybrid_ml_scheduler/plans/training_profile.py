"""The training profile of a learned strategy: the tasks it was trained on, and which of their traits it can do without.

Tolerances are in spreads of single tasks; a mean over 500 tasks strays by less than a fifth of 0.3. `rl_agent` sees all
of a task but its cost in seconds comes with the state. `rl_split` sees seconds only: on tasks of other intensity or
memory it stays as good, on tasks of three times the size it was up to eight times slower than `earliest_finish`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, TaskBatch
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.plans.file_tasks import TaskSource, tasks_of
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import task_habits

__all__ = ["AGENT_TOLERANCES", "SPLIT_TOLERANCES", "training_profile_of"]

PROFILE_TASKS = 20_000
ANY = 1e6  # so wide that the trait does not count
AGENT_TOLERANCES = (0.3, 0.3, 0.3, ANY)  # size, intensity, memory, work
SPLIT_TOLERANCES = (0.3, ANY, ANY, 0.6)


def training_profile_of(
    laws: Sequence[TaskSource], node: Node, seed: int, tolerances: Sequence[float], knee: float
) -> FloatColumn:
    """Means and tolerances of the tasks of the training workloads, and the load from which on training counts.

    With several workloads the profile lies in the middle and reaches to all of them: each is as familiar as alone.
    """
    tasks = [tasks_of(law, seed + index, PROFILE_TASKS) for index, law in enumerate(laws)]
    habits = [_habits(one, node) for one in tasks]
    means = np.array([one.mean(axis=0) for one in habits])
    spreads = np.array([one.std(axis=0) for one in habits])
    low, high = means.min(axis=0), means.max(axis=0)
    reach = np.array(tolerances) * spreads.max(axis=0) + 0.5 * (high - low)
    return np.concatenate([low + 0.5 * (high - low), reach, [knee]])


def _habits(batch: TaskBatch, node: Node) -> FloatColumn:
    seconds = durations(batch, node)
    work_s = np.minimum(seconds.cpu_s, seconds.gpu_s.min(axis=1))
    return task_habits(batch.size, batch.compute_intensity, batch.memory_required, work_s)
