"""Training and test tasks apart: by seed for generated workloads, by time for files, or said not to be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.workload import Part

__all__ = ["BY_SEED", "TRAINING_SEEDS_FROM", "Separation", "separation"]

BY_SEED = "Training used seeds that the test does not use."
# Seeds of evaluations lie below, those of training from here on.
TRAINING_SEEDS_FROM = 1_000_000
# Fewer tasks than these leave nothing to learn from, or nothing to judge by.
_LEAST_TASKS = 100
_TRAINING_SHARE, _CHECK_SHARE = 0.5, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Which tasks train, which check what was learned on the way, and which test; and in words how they lie apart.

    `judged_on` ends a sentence about the check: "on 300 ...".
    """

    training: WorkloadChoice
    check: WorkloadChoice
    test: WorkloadChoice
    is_apart: bool
    by_time: bool
    sentence: str
    judged_on: str

    def training_tasks(self, seed: int, count: int, node: Node) -> TaskBatch:
        """At most `count` tasks to train on."""
        return replace(self.training, num_tasks=count).tasks(seed, node)

    def check_tasks(self, seed: int, count: int, node: Node) -> TaskBatch:
        """At most `count` tasks to check what was learned."""
        return replace(self.check, num_tasks=count).tasks(seed, node)


def separation(workload: WorkloadChoice, node: Node) -> Separation:
    """How training and test lie apart for this workload; a file is read to see whether it can be cut."""
    if workload.is_preset:
        return Separation(
            training=workload,
            check=workload,
            test=workload,
            is_apart=True,
            by_time=False,
            sentence=BY_SEED,
            judged_on="other tasks of one seed",
        )
    whole = replace(workload, num_tasks=None).tasks(0, node)
    reason = _cannot_be_cut(whole)
    if reason is not None:
        return Separation(
            training=workload,
            check=workload,
            test=workload,
            is_apart=False,
            by_time=False,
            sentence=(
                f"Training and test tasks are not apart: {workload.source} {reason}. What was learned is judged on the "
                "very tasks it was learned from, which says how well it remembers and not how well it will do."
            ),
            judged_on="of the very tasks it was trained on",
        )
    return _by_time(workload, len(whole))


def _cannot_be_cut(batch: TaskBatch) -> str | None:
    """Why the tasks of a file cannot be cut into an earlier and a later part; None if they can."""
    if len(batch) < _LEAST_TASKS:
        return f"has {len(batch):,} tasks, and {_LEAST_TASKS} are needed to cut it"
    if batch.arrival_time[-1] == batch.arrival_time[0]:
        return "has tasks that all arrive at once, so that there is no earlier and no later part"
    return None


def _by_time(workload: WorkloadChoice, count: int) -> Separation:
    first, last = (0.0, 1.0) if workload.part is None else (workload.part.begin, workload.part.end)

    def cut(begin: float, end: float) -> WorkloadChoice:
        span = last - first
        return replace(workload, part=Part(begin=first + begin * span, end=first + end * span))

    return Separation(
        training=cut(0.0, _TRAINING_SHARE),
        check=cut(_TRAINING_SHARE, _CHECK_SHARE),
        test=cut(_CHECK_SHARE, 1.0),
        is_apart=True,
        by_time=True,
        sentence=(
            f"Training and test are apart in time: of the {count:,} tasks in order of arrival the first "
            f"{_TRAINING_SHARE:.0%} train, the next {_CHECK_SHARE - _TRAINING_SHARE:.0%} check what was learned, "
            f"and the last {1 - _CHECK_SHARE:.0%} test."
        ),
        judged_on="later tasks",
    )
