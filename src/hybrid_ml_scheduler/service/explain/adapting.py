"""Who adapted: what a change cost each strategy, and how long it took until it was settled again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.service.views.stored import stored_shift
from hybrid_ml_scheduler.service.wire.learning import Adaptation, AdaptedStrategy, Beliefs, BelievedCell
from hybrid_ml_scheduler.storage import AroundChange, EventRow, RegretRow

__all__ = ["adaptation_view", "all_beliefs", "beliefs_of", "settled_from"]

# A strategy is settled where the median of five steps is no more than a quarter above what it settles at.
_STEPS = 5
_MARGIN = 1.25
_WORSE = 1.2
_LEAST_STEPS = 12


def adaptation_view(
    run_id: int,
    shifts: Sequence[EventRow],
    chosen: EventRow | None,
    found: AroundChange,
    behind: Collection[str] = (),
) -> Adaptation:
    """Return the strategies around one change of a run, the one that lost least since then first.

    Nothing is said of those that are behind: what they have finished are other tasks.
    """
    steps = sorted(found.ends_s)
    names = sorted({row.scheduler_name for row in found.rows} | set(behind))
    found = replace(found, rows=[row for row in found.rows if row.scheduler_name not in behind])
    regret = {name: _regret(name, found, steps) for name in names}
    shift = None if chosen is None else stored_shift(chosen)
    begin_s = 0.0 if shift is None else shift.simulated_time_s
    strategies = [
        _strategy(name, found, regret[name], steps, begin_s).model_copy(update={"is_behind": name in behind})
        for name in names
    ]
    return Adaptation(
        run_id=run_id,
        shift=shift,
        shifts=[stored_shift(row) for row in reversed(shifts)],
        tasks_per_point=found.width,
        last_task_id=found.last_task,
        since_tasks=[step * found.width for step in steps],
        since_s=[found.ends_s[step] - begin_s for step in steps],
        regret={name: [None if value != value else value for value in column] for name, column in regret.items()},
        strategies=sorted(strategies, key=lambda one: (one.after_s is None, one.after_s, one.name)),
    )


def _regret(name: str, found: AroundChange, steps: Sequence[int]) -> list[float]:
    """Mean latency above the fastest execution of the same tasks, for each step; NaN where nothing finished."""
    sums = {row.step: (row.latency_s - row.fastest_s) / row.tasks for row in found.rows if row.scheduler_name == name}
    return [sums.get(step, float("nan")) for step in steps]


def _strategy(
    name: str, found: AroundChange, regret: Sequence[float], steps: Sequence[int], begin_s: float
) -> AdaptedStrategy:
    own = [row for row in found.rows if row.scheduler_name == name]
    since = [(step, value) for step, value in zip(steps, regret, strict=True) if step >= 0]
    place = settled_from(np.array([value for _, value in since]))
    # Settled from the beginning of a step on, which is where the one before it ended.
    step = None if place is None else since[place][0]
    moments: Mapping[int, float] = found.ends_s
    return AdaptedStrategy(
        name=name,
        before_s=_mean([row for row in own if row.step < 0]),
        after_s=_mean([row for row in own if row.step >= 0]),
        worst_s=max((value for _, value in since if value == value), default=None),
        settled_s=None if place is None else float(np.nanmean([value for _, value in since[place:]])),
        recovery_tasks=None if step is None else step * found.width,
        recovery_s=None if step is None else 0.0 if step == 0 else max(0.0, moments.get(step - 1, begin_s) - begin_s),
    )


def _mean(rows: Sequence[RegretRow]) -> float | None:
    tasks = sum(row.tasks for row in rows)
    total = sum(row.latency_s - row.fastest_s for row in rows)
    return total / tasks if tasks else None


def settled_from(regret: FloatColumn) -> int | None:
    """Return the step from which on a strategy is settled; None where it is too early to say, or it is not.

    What it settles at is the median of the later half. Where each of the last two quarters is a fifth above the
    one before it, things are still getting worse. Medians, since one long task among few makes a mean jump.
    """
    known = regret[~np.isnan(regret)]
    if len(known) < _LEAST_STEPS:
        return None
    quarter = len(known) // 4
    second, third, last = (np.median(known[len(known) - n * quarter :][:quarter]) for n in (3, 2, 1))
    if last > _WORSE * max(third, 0.0) and third > _WORSE * max(second, 0.0):
        return None
    level = float(np.median(known[-2 * quarter :]))
    limit = level + (_MARGIN - 1.0) * abs(level)
    windows = np.lib.stride_tricks.sliding_window_view(np.nan_to_num(regret, nan=np.inf), _STEPS)
    below = np.flatnonzero(np.median(windows, axis=1) <= limit)
    return int(below[0]) if len(below) else None


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
