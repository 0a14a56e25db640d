"""What a compiled rule decides for one task, taken outside the kernel: for comparing `rule` with `decide`."""

from __future__ import annotations

from hybrid_ml_scheduler.core import NO_GPU, BatchRule, ClusterView, RuleKind, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.physics.choices import fastest_split, least_charge
from hybrid_ml_scheduler.schedulers.grid import as_column, task_terms

__all__ = ["rule_choice"]


def rule_choice(rule: BatchRule, place: int, task: Task, cluster: ClusterView) -> tuple[float, int]:
    """The share and the GPU that the rule gives to the task at this place of the batch."""
    backlogs = as_column(cluster.gpu_backlogs_s)
    if rule.kind == RuleKind.PRESCRIBED:
        if rule.fractions is None or len(rule.fractions) <= place:
            raise SchedulerError(f"a prescribed rule has no share for task {task.task_id}.")
        gpu = NO_GPU if rule.gpus is None else int(rule.gpus[place])
        return float(rule.fractions[place]), cluster.least_loaded_gpu if gpu == NO_GPU else gpu
    terms, grid = task_terms(task, cluster), as_column(rule.grid)
    if rule.kind == RuleKind.FASTEST_SPLIT:
        fraction, gpu = fastest_split(terms, backlogs, grid)
    else:
        fraction, gpu = least_charge(terms, cluster.cpu_backlog_s, backlogs, grid, rule.price)
    return float(fraction), int(gpu)
