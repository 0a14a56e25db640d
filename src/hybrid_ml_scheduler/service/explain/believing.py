"""What a racer believed of durations, beside what happened."""

from __future__ import annotations

from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.service.wire.learning import Beliefs, BelievedCell

__all__ = ["all_beliefs", "beliefs_of"]


def beliefs_of(racer: Racer) -> Beliefs:
    """Return the record of one strategy, kinds in the order of their names; call it in the arena's thread."""
    learned = racer.simulation.learned
    if learned is None:
        return Beliefs(scheduler=racer.name, level=racer.level, devices=[], drifts=0, cells=[])
    cells = []
    for (kind, place), cell in sorted(learned.record.cells().items()):
        now, device = learned.model.estimate(kind, place), learned.types[place]
        intervals = {"now": now.seconds, "low": now.low_s, "high": now.high_s}
        cells.append(BelievedCell(kind=kind, device=device, **cell._asdict(), **intervals))
    devices, drifts = list(learned.types), learned.model.drifts
    return Beliefs(scheduler=racer.name, level=racer.level, devices=devices, drifts=drifts, cells=cells)


def all_beliefs(race: Race) -> dict[str, Beliefs]:
    """Return the records of all strategies that learn durations."""
    return {racer.name: beliefs_of(racer) for racer in race.racers if racer.simulation.learned is not None}
