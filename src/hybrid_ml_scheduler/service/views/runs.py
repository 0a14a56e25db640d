"""Stored runs as wire messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.live.frames import BranchPoint, moment
from hybrid_ml_scheduler.plans.comparable import RANKED, is_covered, open_places
from hybrid_ml_scheduler.plans.intervals import t_interval
from hybrid_ml_scheduler.plans.upload_source import source_name
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.measured_runs import facts_of
from hybrid_ml_scheduler.service.views.stored import STORED_NAMES
from hybrid_ml_scheduler.service.wire.measured import MeasuredFacts
from hybrid_ml_scheduler.service.wire.runs import PairedRuns, PairedValue, RunCard, RunStanding
from hybrid_ml_scheduler.service.wire.statistics import Metric
from hybrid_ml_scheduler.storage import STRETCH_TASKS, PairedStretches, RunRecord, RunSummary

__all__ = ["paired_view", "parting", "run_card", "standing_view"]

_FEW = 2


def standing_view(summary: RunSummary, facts: MeasuredFacts | None = None, *, is_open: bool = False) -> RunStanding:
    """Return what one strategy's results add up to; in a real run, whether they were measured, and the gap.

    Where places are open, waiting tasks could still change them.
    """
    means, source = summary.means, "simulated"
    gap = None
    if facts is not None:
        source = "modelled" if summary.scheduler_name in facts.modelled else "measured"
        if facts.bound_s and summary.last_finish_s is not None and summary.results == facts.tasks:
            gap = summary.last_finish_s / facts.bound_s - 1.0
    standing = RunStanding(
        name=summary.scheduler_name,
        tasks=summary.results,
        finished=summary.finished,
        waiting=summary.waiting,
        is_behind=summary.is_behind,
        undecided=[],
        failed=summary.results - summary.finished,
        oom_count=summary.out_of_memory,
        avg_time=means["actual_time"],
        avg_latency=means["latency"],
        avg_wait=means["wait"],
        avg_energy=means["energy_consumption"] if facts is None else None,  # no meter reads single tasks
        avg_cost=means["execution_cost"] if facts is None else None,
        avg_gpu_fraction=means["gpu_fraction"],
        longest_latency=summary.longest_latency_s,
        makespan=summary.last_finish_s,
        device_seconds=summary.device_s,
        source=source,
        makespan_gap=gap,
    )
    figures = standing.model_dump(include=set(RANKED))
    places = RANKED if standing.is_behind else open_places(figures, [{}] if is_open else [])
    return standing.model_copy(update={"undecided": list(places)})


def run_card(run: RunRecord, summaries: Mapping[str, RunSummary], *, present: int | None, has_picture: bool) -> RunCard:
    """Return a run at a glance; of a plan that this version cannot read only what stands beside it is told."""
    try:
        plan = stored_plan(run.plan)
    except HmsError:
        plan = None
    facts = facts_of(run)
    own = [one for one in summaries.values() if facts is None or one.scheduler_name not in facts.modelled]
    entered = max((one.results + one.waiting for one in summaries.values()), default=0)
    compared = max((one.compared for one in summaries.values()), default=0)
    is_open = any(one.is_behind for one in own) or not is_covered(compared, entered)
    fewest = min((one.results - one.finished for one in own), default=0)
    is_made = plan is not None and plan.workload.is_preset
    return RunCard(
        run_id=run.run_id,
        name=run.name,
        note=run.note,
        is_present=run.run_id == present,
        has_picture=has_picture,
        state=run.state,
        at=moment(run.created_at),
        seed=run.seed,
        workload="unknown" if plan is None else source_name(plan.workload.source),
        arrival_rate=plan.workload.parameters().arrival_rate if plan is not None and is_made else None,
        num_gpus=None if plan is None else plan.node.num_gpus,
        schedulers=sorted(summaries),
        tasks=entered,
        compared_tasks=compared,
        first_task_id=min((one.first_task for one in summaries.values()), default=None),
        last_task_id=max((one.last_task for one in summaries.values()), default=None),
        standings=[
            standing_view(one, facts, is_open=is_open or one.results - one.finished > fewest)
            for one in summaries.values()
        ],
        branch=None if (left := run.controls.get("branch")) is None else BranchPoint(**left),
        source="simulated" if facts is None else "measured",
        measured=facts,
    )


def parting(first: RunCard, second: RunCard) -> tuple[int, int] | None:
    """Return the first task of each run that both met, where one of them left the other."""
    if (left := _left(second, first)) is not None:
        return left.task_id, left.first_task_id
    if (left := _left(first, second)) is not None:
        return left.first_task_id, left.task_id
    return None


def _left(run: RunCard, other: RunCard) -> BranchPoint | None:
    return run.branch if run.branch is not None and run.branch.run_id == other.run_id else None


def paired_view(first: RunCard, second: RunCard, paired: PairedStretches) -> PairedRuns:
    """Return how a run differs from the first one on the tasks that both met."""
    values = [
        _value(name, metric, pairs)
        for metric in Metric
        for name, pairs in paired.means[STORED_NAMES.get(metric.value, metric.value)].items()
        if pairs
    ]
    return PairedRuns(
        run_id=second.run_id, tasks=paired.tasks, values=values, sentence=_sentence(first, second, paired, values)
    )


def _value(name: str, metric: Metric, pairs: Sequence[tuple[float, float]]) -> PairedValue:
    both = [(float(one), float(two)) for one, two in pairs]
    found = t_interval([two - one for one, two in both])
    is_known = math.isfinite(found.low)
    verdict = "none"
    if is_known and (found.low > 0.0 or found.high < 0.0):
        verdict = "first" if found.low > 0.0 else "second"
    return PairedValue.model_validate(
        {
            "scheduler": name,
            "metric": metric,
            "stretches": len(both),
            "first": sum(one for one, _ in both) / len(both),
            "second": sum(two for _, two in both) / len(both),
            "difference": found.mean,
            "low": found.low if is_known else None,
            "high": found.high if is_known else None,
            "verdict": verdict,
        }
    )


def _sentence(first: RunCard, second: RunCard, paired: PairedStretches, values: list[PairedValue]) -> str:
    both = f"Runs {first.run_id} and {second.run_id}"
    if min(first.tasks, second.tasks) < STRETCH_TASKS:
        return f"One of the runs has fewer than {STRETCH_TASKS} tasks, which is too few to compare task for task."
    left = next((run for run, other in ((second, first), (first, second)) if _left(run, other)), None)
    same = f"{both} met the same first {paired.tasks:,} tasks"
    if left is not None and left.branch is not None:
        parent = left.branch
        same = f"Run {left.run_id} left run {parent.run_id} at task {parent.task_id:,}; "
        same += f"from there on both met the same {paired.tasks:,} tasks"
    elif paired.tasks == 0:
        return f"{both} met other tasks, so their means stand side by side and are not compared task for task."
    if not values or max(value.stretches for value in values) < _FEW:
        return f"{same}, which is too few for an interval."
    stretches = max(value.stretches for value in values)
    return f"{same}; the intervals are over the differences of {stretches} stretches of {STRETCH_TASKS} tasks."
