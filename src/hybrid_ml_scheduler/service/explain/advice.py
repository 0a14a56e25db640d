"""Every strategy's answer to a task from outside."""

from __future__ import annotations

import math
import time

from hybrid_ml_scheduler.core import NO_GPU, Task, device_name
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import CPU, GPU
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.service.problems import Conflict
from hybrid_ml_scheduler.service.wire.tasks import Advice, NewTask, TaskAdvice

__all__ = ["advice", "advice_of"]


def advice(arena: Arena, asked: NewTask, *, run: bool) -> TaskAdvice:
    """Answer for the race as it stands (in the arena's thread); with `run` the task becomes the next one."""
    race = arena.race
    if race is None:
        raise PlanError("There is no run yet; start one first.")
    if asked.runs_on == CPU and asked.gpus_required != 0 and "gpus_required" in asked.model_fields_set:
        raise PlanError(f"runs_on = cpu and gpus_required = {asked.gpus_required} contradict.")
    if run:
        arena.refuse_if_halted()
        if race.course.trace is not None:
            raise Conflict("The run follows a trace, whose tasks are given; ask about yours without run = true.")
    gpus = 0 if asked.runs_on == CPU and "gpus_required" not in asked.model_fields_set else asked.gpus_required
    task = race.foreign(
        Task(
            task_id=race.next_task_id,
            size=asked.size,
            compute_intensity=asked.compute_intensity,
            memory_required=asked.memory_required,
            arrival_time=race.now_s if asked.arrival_time is None else asked.arrival_time,
            dependencies=tuple(asked.dependencies),
            kind=asked.kind,
            deadline=asked.deadline,
            divisible=gpus == 1 and asked.runs_on != GPU if asked.divisible is None else asked.divisible,
            gpus_required=gpus,
            gpu_only=asked.runs_on == GPU,
        )
    )
    decisions = {racer.name: advice_of(racer, task) for racer in race.racers}
    entered = arena.admit(task, time.time()) if run else None
    return TaskAdvice(
        task_id=None if entered is None else entered.task_id,
        simulated_time_s=race.now_s,
        in_race=run,
        decisions=decisions,
    )


def advice_of(racer: Racer, task: Task) -> Advice:
    """One strategy's answer: where it would place the task, and what would come of that if nothing else came."""
    ready_s = racer.simulation.foreseen_s(task) if task.dependencies else task.arrival_time
    later = task._replace(arrival_time=ready_s) if math.isfinite(ready_s) else task
    decision, reasons = racer.preview(later)
    cluster, estimator = racer.simulation.cluster, racer.simulation.cluster.estimator
    view = cluster.foreseen_view(later.arrival_time, later)
    gpu = view.least_loaded_gpu if decision.gpu is None else decision.gpu
    parts = estimator.parts(task, decision.gpu_fraction, gpu)
    used = gpu if parts.gpu_s > 0.0 else NO_GPU
    backlogs_s = cluster.foreseen_view(later.arrival_time).gpu_backlogs_s
    gang = () if used == NO_GPU else estimator.gang(task, gpu, backlogs_s)
    fails = parts.failed or math.isnan(ready_s)
    latency = ready_s - task.arrival_time + view.completion_s(later, decision.gpu_fraction, gpu)
    return Advice(
        scheduler=racer.name,
        gpu_fraction=parts.gpu_fraction,
        device=device_name(used, parts.gpu_fraction, gang),
        confidence=decision.confidence,
        predicted_time=None if fails else estimator.execution_s(parts),
        predicted_latency=latency if math.isfinite(latency) else None,
        predicted_energy=None if fails else estimator.energy_j(parts, used, gang),
        predicted_cost=None if fails else estimator.cost_usd(parts, used, gang),
        out_of_memory=parts.out_of_memory,
        reason=reasons,
        reason_text=str(reasons.get("reason") or racer.summary),
    )
