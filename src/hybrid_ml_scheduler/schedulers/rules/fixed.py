"""The two simplest baselines: everything to the CPU, everything to a GPU."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import CPU_ONLY, BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch

__all__ = ["CpuOnly", "GpuOnly"]


class CpuOnly:
    """Every task runs on the CPU."""

    name = "cpu_only"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Use no GPU at all."""
        return CPU_ONLY

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form: a share of 0 for everyone."""
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.zeros(len(batch)))


class GpuOnly:
    """Every task runs whole on the GPU with the least backlog."""

    name = "gpu_only"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Use the least loaded GPU for everything."""
        return Decision(gpu_fraction=1.0)

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form: a share of 1 for everyone."""
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.ones(len(batch)))
