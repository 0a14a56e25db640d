"""Compiled code: telling the user when it has to be made, and making it beforehand."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan

__all__ = ["compile_service", "is_service_compiled", "rehearse", "say_if_compiling", "take_one_thread"]

_REHEARSED_TASKS = 120
_TOGETHER = 32
_ONE_THREAD_EACH = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def take_one_thread() -> None:
    """Have linear algebra use one thread; call before NumPy is loaded. Small matrices are slower on several threads."""
    for name in _ONE_THREAD_EACH:
        os.environ.setdefault(name, "1")


def say_if_compiling() -> None:
    """Say so once if the compiled code is not in the cache yet."""
    from hybrid_ml_scheduler.core.compiled import is_kept
    from hybrid_ml_scheduler.engine.loop import run_at

    if not is_kept(run_at):
        print(
            "The first race compiles its kernels (some 10 seconds); they are cached for the next one.", file=sys.stderr
        )


def compile_service() -> None:
    """Make what a live race needs before the service answers: later it would stand still in the middle of a race."""
    if not is_service_compiled():
        print("The first start compiles the engine (about a minute); it is cached for the next one.", file=sys.stderr)
        _rehearse_live_races()


def is_service_compiled() -> bool:
    """Whether what a live race needs lies in the cache: one function each for placing, believing, agent and forest."""
    from hybrid_ml_scheduler.cluster.lessons import learn_parts
    from hybrid_ml_scheduler.cluster.onward import run_onward
    from hybrid_ml_scheduler.core.compiled import is_kept
    from hybrid_ml_scheduler.learning.belief import log_belief
    from hybrid_ml_scheduler.learning.network import td_step
    from hybrid_ml_scheduler.schedulers.forest.trained_seconds import corrected_size

    needed: tuple[Callable[..., object], ...] = (learn_parts, run_onward, log_belief, td_step, corrected_size)
    return all(is_kept(function) for function in needed)


def rehearse() -> None:
    """Run everything once that a service and a first race need compiled, so that nobody waits for it later."""
    from hybrid_ml_scheduler.studies.race import entrants, race_seed

    for plan in _rehearsed():
        race_seed(plan, entrants(plan), 0)
    _rehearse_live_races()


def _told() -> Plan:
    from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
    from hybrid_ml_scheduler.schedulers import DEFAULT_RACE

    return Plan(schedulers=DEFAULT_RACE, workload=WorkloadChoice(num_tasks=_REHEARSED_TASKS))


def _rehearse_live_races() -> None:
    exact, learned = _rehearsed()
    # Where no strategy lets tasks wait, many tasks are taken at a time.
    for plan in (exact, learned, replace(learned, schedulers=("greedy", "earliest_finish"))):
        _rehearse_live(plan)


def _rehearsed() -> tuple[Plan, Plan]:
    """A race with exact durations, and one that learns them: other compiled code serves each."""
    from hybrid_ml_scheduler.core.knowledge import LEARNED
    from hybrid_ml_scheduler.plans.plan import WorkloadChoice

    told = _told()
    unknown = WorkloadChoice(source="unknown", num_tasks=_REHEARSED_TASKS)
    return told, replace(told, workload=unknown, knowledge=LEARNED)


def _rehearse_live(plan: Plan) -> None:
    from hybrid_ml_scheduler.live.race import Race
    from hybrid_ml_scheduler.live.records import Course
    from hybrid_ml_scheduler.service.control.courses import live_options

    course = Course(
        seed=0,
        node=plan.node,
        preset=plan.workload.source,
        workload=plan.workload.parameters(),
        schedulers=plan.schedulers,
        options=live_options(plan),
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
