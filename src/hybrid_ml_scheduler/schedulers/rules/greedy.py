"""Greedy: the share is the compute intensity."""

from __future__ import annotations

from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch

__all__ = ["Greedy"]


class Greedy:
    """Sends as much to the least loaded GPU as the task is parallel."""

    name = "greedy"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Share = intensity."""
        return Decision(gpu_fraction=task.compute_intensity)

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form: the column of intensities is the column of shares."""
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=batch.compute_intensity)

    rule_ahead = rule
