"""From the race's state to a frame: averages, gaps to the proven bound, device loads, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.live.frames import Comparison, DecisionAudit, DeviceLoad, Frame, LatestResult, Status, Window
from hybrid_ml_scheduler.live.places import Waited, lower_ends, with_places
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.windows import Span, loads

__all__ = ["Framer", "latest_result"]

_PROOF_EVERY_S = 2.0
_TASKS_SHOWN = 20
_NO_GAPS = (None, None)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def latest_result(outcome: Outcome) -> LatestResult:
    """Return an outcome with the names of the wire; what is not a number is None."""
    return LatestResult(
        time=_known(outcome.execution_s),
        energy=_known(outcome.energy_j),
        cost=_known(outcome.cost_usd),
        latency=_known(outcome.latency_s),
        wait=_known(outcome.wait_s),
        gpu_fraction=outcome.gpu_fraction,
        device=outcome.device,
    )


class Framer:
    """Makes frames of one race."""

    def __init__(self, race: Race) -> None:
        self._race = race
        self._gaps: dict[str, tuple[float | None, float | None]] = {}
        self._proven_at, self._proven_up_to = -math.inf, -1
        # A race that was taken up again brings its latest tasks along: they have not been shown yet.
        self._shown_up_to = race.recent[0].task_id if race.recent else race.next_task_id

    def frame(self, status: Status, at: float) -> Frame:
        """Return the race as it is now."""
        race = self._race
        # A race that stands is looked at for long: its gaps are those of its last task, not of a moment before.
        is_behind = self._proven_up_to != race.next_task_id and status.state != "running"
        if is_behind or at - self._proven_at >= _PROOF_EVERY_S:
            self._prove(at)
        racers, bound = race.racers, race.proof.sum_up()
        return Frame(
            at=at,
            status=status,
            task=race.recent[-1] if race.recent else None,
            recent_tasks=self._new_tasks(),
            latest={racer.name: latest_result(racer.latest) for racer in racers if racer.latest is not None},
            windows={span.name: self._window(span) for span in race.windows.spans()},
            clusters={racer.name: self._devices(racer) for racer in racers},
            audits={
                racer.name: self._audit(racer, told) for racer in racers if (told := racer.latest_explained) is not None
            },
            bound=bound,
            marks=tuple(race.marks),
        )

    def _new_tasks(self) -> tuple[Task, ...]:
        fresh = [task for task in self._race.recent if task.task_id >= self._shown_up_to]
        self._shown_up_to = self._race.next_task_id
        return tuple(fresh[-_TASKS_SHOWN:])

    def _devices(self, racer: Racer) -> Mapping[str, DeviceLoad]:
        return racer.devices(self._race.now_s)

    def _prove(self, at: float) -> None:
        """Renew the bound and, at the same moment, every gap to it: figures of different moments do not compare."""
        self._proven_at, self._proven_up_to = at, self._race.next_task_id
        bound, run = self._race.proof.renew(), self._race.windows.spans()[0]
        for racer in self._race.racers:
            whole = racer.tally.over(run)
            complete = whole.tasks == run.compared > 0
            self._gaps[racer.name] = (
                (whole.finish_s - run.begin_s) / bound.makespan_s - 1.0 if complete and bound.makespan_s else None,
                whole.time_s / bound.execution_s - 1.0 if complete and bound.execution_s else None,
            )

    def _window(self, span: Span) -> Window:
        is_empty = span.tasks == 0
        rows = [self._standing(racer, span) for racer in self._race.racers]
        return Window(
            name=span.name,
            first_task_id=None if is_empty else span.first_task,
            last_task_id=None if is_empty else span.last_task,
            tasks=span.tasks,
            compared_tasks=span.compared,
            begin_s=span.begin_s,
            end_s=span.end_s,
            comparison=with_places(rows, span.compared, span.tasks),
        )

    def _standing(self, racer: Racer, span: Span) -> Comparison:
        """Return one strategy's figures over a window; the bounds are proven for the whole run, so only it has gaps."""
        total, lacking, is_run = racer.tally.over(span), racer.tally.lacks(span), span.name == "run"
        mean_s, oracle_s = total.mean(total.time_s), span.oracle_s / max(1, span.compared)
        gaps = self._gaps.get(racer.name, _NO_GAPS) if is_run else _NO_GAPS
        makespan_s = max(0.0, total.finish_s - span.begin_s)
        work_s, length_s = (total.cpu_s, total.gpu_s), span.compared_s - span.begin_s
        cpu_load, gpu_load = loads(self._race.course.node, work_s, length_s, makespan_s)
        row = Comparison(
            name=racer.name,
            tasks=total.tasks,
            finished=span.tasks - lacking.waiting - lacking.failed_ahead - total.failed,
            waiting=lacking.waiting,
            avg_time=mean_s,
            avg_latency=total.mean(total.latency_s),
            avg_wait=total.mean(total.wait_s),
            avg_energy=total.mean(total.energy_j),
            avg_cost=total.mean(total.cost_usd),
            p95_latency=total.p95_latency_s,
            p99_9_latency=total.p99_9_latency_s,
            longest_latency=total.longest_latency_s,
            avg_slowdown=total.mean(total.slowdown),
            longest_slowdown=total.longest_slowdown,
            within_deadline=total.within_deadline,
            total_time=total.time_s,
            total_energy=total.energy_j,
            total_cost=total.cost_usd,
            device_seconds=total.cpu_s + total.gpu_s,
            cpu_load=cpu_load,
            gpu_load=gpu_load,
            makespan=makespan_s,
            makespan_gap=gaps[0],
            time_gap=gaps[1],
            efficiency=oracle_s / mean_s if mean_s else None,
            avg_gpu_fraction=total.mean(total.gpu_fraction),
            decisions={"cpu": total.cpu, "gpu": total.gpu, "split": total.split},
            oom_count=total.out_of_memory,
            rounded_count=total.rounded,
            failed=total.failed,
        )
        if not lacking.compared:
            return row
        waited = Waited(lacking.compared, lacking.waited_s, lacking.longest_s, span.end_s - span.begin_s)
        return lower_ends(row, waited, self._race.proof.state if is_run else None)

    def _audit(self, racer: Racer, outcome: Outcome) -> DecisionAudit:
        reasons = racer.reasons if racer.reasons_of == outcome.task_id else {}
        confidence = reasons.get("confidence")
        return DecisionAudit(
            scheduler=racer.name,
            task_id=outcome.task_id,
            gpu_fraction=outcome.gpu_fraction,
            device=outcome.device,
            confidence=float(confidence) if isinstance(confidence, (int, float)) else None,
            reason=reasons,
            reason_text=str(reasons.get("reason") or racer.summary),
        )
