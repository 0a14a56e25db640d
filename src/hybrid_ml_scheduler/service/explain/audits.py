"""A stored task from every side: what each strategy did and why, the oracle's choice, the devices around it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_ml_scheduler.cluster import BacklogView
from hybrid_ml_scheduler.core import NO_GPU, Task, device_name
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.hidden import HiddenTruth
from hybrid_ml_scheduler.live.lockstep import shown_to
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.schedulers.rules.oracle import Oracle
from hybrid_ml_scheduler.service.control.asking import ask_arena
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.explain.gantt import Reach, gantt_around
from hybrid_ml_scheduler.service.wire.tasks import Gantt, OracleChoice, StrategyAudit, TaskAudit
from hybrid_ml_scheduler.storage import (
    MEASURED,
    ResultRow,
    RunRecord,
    Store,
    TaskHistory,
    event_history,
    results_between,
)
from hybrid_ml_scheduler.workload import WorkloadParameters
from hybrid_ml_scheduler.workload.draws import kind_names

__all__ = ["REAL", "Reasons", "audit_of", "oracle_choice", "reasons_of"]

_TASKS_BEFORE = 80
_TASKS_AFTER = 80
_ORACLE_SENTENCE = (
    "The split with the least execution time on a grid of 5 %, as if all devices were free: "
    "it ignores queues, so it is no optimum of latency or makespan."
)
Origin = Literal["at_decision", "now", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """Why strategies decided a task as they did: as recorded then, as they say now, or in general."""

    recalled: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    today: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summaries: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = "This strategy is not in the present race, so it gives no reasons."

    def of(self, name: str) -> tuple[Mapping[str, Any], str, Origin]:
        """Return one strategy's reasons, the sentence for people, and where they come from."""
        reasons = self.recalled.get(name) or self.today.get(name) or {}
        origin: Origin = "at_decision" if self.recalled.get(name) else "now" if self.today.get(name) else "none"
        return reasons, str(reasons.get("reason") or self.summaries.get(name, self.otherwise)), origin


REAL = Reasons(otherwise="Of a real run the reasons are not kept.")


async def reasons_of(arena: Arena, task: Task) -> Reasons:
    """Ask the race that runs here about a task that it has decided."""
    recalled = arena.reasons.recall(task.task_id)
    today = await ask_arena(arena, lambda: _reasons_today(arena, task, recalled))
    racers = [] if arena.race is None else arena.race.racers
    return Reasons(recalled=recalled, today=today, summaries={racer.name: racer.summary for racer in racers})


async def audit_of(store: Store, run: RunRecord, found: TaskHistory, task: Task, reasons: Reasons) -> TaskAudit:
    """Gather everything about one task of a run."""
    plan = stored_plan(run.plan)
    node = plan.node
    first, last = task.task_id - _TASKS_BEFORE, task.task_id + _TASKS_AFTER
    around = await results_between(store, first, last, run_id=run.run_id)  # each run has a clock of its own
    origin = int(run.controls["first_task_id"]) if run.first_task is None else run.first_task
    reach = Reach(is_first=first <= origin, is_last=not around or around[-1].task_id < last)
    strategies = {
        name: _strategy(row, reasons.of(name), gantt_around(row, around, node, reach))
        for name, row in found.results.items()
    }
    oracle = None if run.state == MEASURED else await _oracle(store, run, plan, found, task)
    return TaskAudit(task=found.task, oracle=oracle, strategies=strategies)


async def _oracle(store: Store, run: RunRecord, plan: Plan, found: TaskHistory, task: Task) -> OracleChoice:
    """What the oracle did where it raced, and would have done elsewhere; it is always told the truth."""
    row = found.results.get(Oracle.name)
    if row is not None and row.actual_time is not None:
        return OracleChoice(
            gpu_fraction=row.gpu_fraction,
            device=row.device,
            time=row.actual_time,
            energy=row.energy_consumption or 0.0,
            cost=row.execution_cost or 0.0,
            explanation=_ORACLE_SENTENCE,
        )
    events = await event_history(store, kind="shift", run_id=run.run_id)
    before = [json.loads(event.payload) for event in reversed(events) if event.boundary <= task.task_id]
    drifts = [facts for facts in before if "drift" in facts]
    return oracle_choice(task, plan.node, _hidden(plan, drifts))


def _hidden(plan: Plan, drifts: Sequence[Mapping[str, Any]]) -> HiddenTruth:
    """The truth of a run after some drifts."""
    hidden = HiddenTruth(plan.hidden, plan.seed, plan.node)
    for facts in drifts:
        laws = WorkloadParameters().with_values(facts["workload"])
        hidden.drift(Drift(**facts["drift"]), kind_names(laws)[1:] or ("",))
    return hidden


def oracle_choice(task: Task, node: Node, hidden: HiddenTruth) -> OracleChoice:
    """Return what the oracle would have done."""
    estimator = PhysicsEstimator(node)
    if hidden.hides and not (task.cpu_time or task.gpu_time or task.gpu_times):
        estimator.remember(task, hidden.of(task, estimator.seconds(task), 1.0).true)
    choice = Oracle().decide(task, BacklogView(estimator))
    gpu = choice.gpu or 0
    parts = estimator.parts(task, choice.gpu_fraction, gpu)
    gang = estimator.gang(task, gpu, [0.0] * estimator.num_gpus) if parts.gpu_s > 0 else ()
    return OracleChoice(
        gpu_fraction=parts.gpu_fraction,
        device=device_name(gpu if parts.gpu_s > 0 else NO_GPU, parts.gpu_fraction, gang),
        time=estimator.execution_s(parts),
        energy=estimator.energy_j(parts, gpu, gang),
        cost=estimator.cost_usd(parts, gpu, gang),
        explanation=_ORACLE_SENTENCE,
    )


def _reasons_today(arena: Arena, task: Task, recalled: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Ask strategies whose reasons were not recorded what they say about the task now (in the arena's thread)."""
    race = arena.race
    if race is None:
        return {}
    missing = [racer for racer in race.racers if racer.name not in recalled]
    return {racer.name: _reason_today(racer, shown_to(racer, task, race)) for racer in missing}


def _reason_today(racer: Racer, task: Task) -> Mapping[str, Any]:
    """A strategy that fails over its own reasons does not keep what is stored from being read."""
    try:
        return racer.explanation(task)
    except SchedulerError as error:
        return {"reason": str(error)}


def _strategy(row: ResultRow, reason: tuple[Mapping[str, Any], str, Origin], gantt: Gantt) -> StrategyAudit:
    return StrategyAudit(
        scheduler=row.scheduler_name,
        device=row.device,
        gpu_fraction=row.gpu_fraction,
        start=row.start_time,
        finish=row.finish_time,
        time=row.actual_time,
        latency=row.latency,
        wait=row.wait,
        energy=row.energy_consumption,
        cost=row.execution_cost,
        reason=dict(reason[0]),
        reason_text=reason[1],
        reason_origin=reason[2],
        gantt=gantt,
    )
