"""What a teacher did, step by step: the food of an agent's pre-training."""

from __future__ import annotations

from hybrid_ml_scheduler.cluster import BacklogView, Simulation
from hybrid_ml_scheduler.core import ClusterView, Decision, Prepares, RaceContext, Scheduler, Task, TaskBatch
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.agents.sight import Demonstration

__all__ = ["demonstrations"]


class _Recorder:
    """A strategy that does what another one does and remembers what it was shown."""

    def __init__(self, teacher: Scheduler) -> None:
        self.name = teacher.name
        self._teacher = teacher
        self.seen: dict[int, tuple[Task, BacklogView, Decision]] = {}

    def prepare(self, context: RaceContext) -> None:
        """Prepare the teacher."""
        if isinstance(self._teacher, Prepares):
            self._teacher.prepare(context)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Ask the teacher; keep a copy of the backlogs, since the view is used again for the next task."""
        decision = self._teacher.decide(task, cluster)
        gpu = cluster.least_loaded_gpu if decision.gpu is None else decision.gpu
        view = BacklogView(
            cluster.estimator,  # type: ignore[arg-type]
            cluster.now_s,
            cluster.cpu_backlog_s,
            list(cluster.gpu_backlogs_s),
        )
        self.seen[task.task_id] = task, view, decision._replace(gpu=gpu)
        return decision


def demonstrations(teacher: Scheduler, batch: TaskBatch, node: Node, seed: int) -> list[Demonstration]:
    """Let a teacher run the batch; returns each decision with what it saw and what came of it, in order."""
    recorder = _Recorder(teacher)
    simulation = Simulation(node, recorder, seed=seed)
    outcomes = simulation.run(zip(batch, batch.duration_factor.tolist(), strict=True))
    return [Demonstration(*recorder.seen[one.task_id], one) for one in outcomes if one.task_id in recorder.seen]
