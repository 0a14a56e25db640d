"""From the race's state to a frame: averages, gaps to the proven bound, device loads, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.live.frames import Audit, DeviceState, Frame, Standing, Status, Trace
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer

__all__ = ["Framer", "trace"]

_PROOF_EVERY_S = 2.0
_TASKS_SHOWN = 20


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def trace(outcome: Outcome) -> Trace:
    """Return an outcome with the names of the wire; what is not a number is None."""
    return Trace(
        task_id=outcome.task_id,
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
        self._proven_at = -math.inf
        self._shown_up_to = race.next_task_id

    def frame(self, status: Status, at: float) -> Frame:
        """Return the race as it is now."""
        race = self._race
        if at - self._proven_at >= _PROOF_EVERY_S:
            self._prove(at)
        racers = race.racers
        return Frame(
            at=at,
            status=status,
            task=race.recent[-1] if race.recent else None,
            recent_tasks=self._new_tasks(),
            latest={racer.name: trace(racer.latest) for racer in racers if racer.latest is not None},
            standings=tuple(self._standing(racer) for racer in racers),
            clusters={racer.name: self._devices(racer) for racer in racers},
            audits={
                racer.name: self._audit(racer, told) for racer in racers if (told := racer.latest_explained) is not None
            },
            bound=race.proof.state,
            marks=tuple(race.marks),
        )

    def _new_tasks(self) -> tuple[Task, ...]:
        fresh = [task for task in self._race.recent if task.task_id >= self._shown_up_to]
        self._shown_up_to = self._race.next_task_id
        return tuple(fresh[-_TASKS_SHOWN:])

    def _devices(self, racer: Racer) -> Mapping[str, DeviceState]:
        return racer.devices(self._race.now_s)

    def _prove(self, at: float) -> None:
        """Renew the bound and, at the same moment, every gap to it: figures of different moments do not compare."""
        self._proven_at = at
        bound = self._race.proof.renew()
        for racer in self._race.racers:
            tally = racer.tally
            complete = tally.tasks == self._race.tasks_processed > 0
            self._gaps[racer.name] = (
                tally.makespan_s / bound.makespan_s - 1.0 if complete and bound.makespan_s else None,
                tally.time_s / bound.execution_s - 1.0 if complete and bound.execution_s else None,
            )

    def _standing(self, racer: Racer) -> Standing:
        tally, race = racer.tally, self._race
        oracle_s = race.oracle_s / race.tasks_processed if race.tasks_processed else 0.0
        mean_s = tally.mean(tally.time_s)
        makespan_gap, time_gap = self._gaps.get(racer.name, (None, None))
        return Standing(
            name=racer.name,
            tasks=tally.tasks,
            avg_time=mean_s,
            avg_latency=tally.mean(tally.latency_s),
            avg_wait=tally.mean(tally.wait_s),
            avg_energy=tally.mean(tally.energy_j),
            avg_cost=tally.mean(tally.cost_usd),
            p95_latency=tally.recent_percentile_s(95.0),
            total_time=tally.time_s,
            total_energy=tally.energy_j,
            total_cost=tally.cost_usd,
            device_seconds=tally.device_s,
            makespan=tally.makespan_s,
            makespan_gap=makespan_gap,
            time_gap=time_gap,
            efficiency=oracle_s / mean_s if mean_s else None,
            avg_gpu_fraction=tally.mean(tally.gpu_fraction),
            decisions={"cpu": tally.cpu, "gpu": tally.gpu, "split": tally.split},
            oom_count=tally.out_of_memory,
            failed=tally.failed,
        )

    def _audit(self, racer: Racer, outcome: Outcome) -> Audit:
        reasons = racer.reasons if racer.reasons_of == outcome.task_id else {}
        confidence = reasons.get("confidence")
        return Audit(
            scheduler=racer.name,
            task_id=outcome.task_id,
            gpu_fraction=outcome.gpu_fraction,
            device=outcome.device,
            confidence=float(confidence) if isinstance(confidence, (int, float)) else None,
            reason=reasons,
            reason_text=str(reasons.get("reason") or racer.summary),
        )
