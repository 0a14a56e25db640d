"""Compiled code: telling the user when it has to be made, and making it beforehand."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan

__all__ = ["rehearse", "say_if_compiling"]

_REHEARSED_TASKS = 120
_TOGETHER = 32


def say_if_compiling() -> None:
    """Say so once if the compiled code is not in the cache yet."""
    from hybrid_ml_scheduler.cluster.kernel import run_independent
    from hybrid_ml_scheduler.core.compiled import is_kept

    if not is_kept(run_independent):
        print(
            "The first race compiles its kernels (some 10 seconds); they are cached for the next one.", file=sys.stderr
        )


def rehearse() -> None:
    """Run everything once that a service and a first race need compiled, so that nobody waits for it later."""
    from hybrid_ml_scheduler.core.knowledge import LEARNED
    from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
    from hybrid_ml_scheduler.schedulers import DEFAULT_RACE
    from hybrid_ml_scheduler.studies.race import entrants, race_seed

    told = Plan(schedulers=DEFAULT_RACE, workload=WorkloadChoice(num_tasks=_REHEARSED_TASKS))
    race_seed(told, entrants(told), 0)
    # The live race hides the durations unless it is asked not to, and then learns them inside the compiled code.
    for plan in (told, replace(told, workload=WorkloadChoice(source="unknown"), knowledge=LEARNED)):
        _rehearse_live(plan)


def _rehearse_live(plan: Plan) -> None:
    from hybrid_ml_scheduler.live.race import Race
    from hybrid_ml_scheduler.live.records import Course

    course = Course(
        seed=0,
        node=plan.node,
        preset=plan.workload.source,
        workload=plan.workload.parameters(),
        schedulers=plan.schedulers,
        retraining="background",
        knowledge=plan.knowledge,
        truth=plan.hidden,
    )
    race = Race(course, run_id=0, first_task_id=0)
    for _ in range(_REHEARSED_TASKS):
        race.step(explain=True)
    race.advance(_TOGETHER)
    race.proof.renew()
    job = race.learners.request(race.next_task_id)
    if job is not None:
        race.activate(job, job.run(), at=0.0)


if __name__ == "__main__":
    rehearse()
