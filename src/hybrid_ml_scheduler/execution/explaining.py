"""Why a task went where it went, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.estimator import NEVER_S
from hybrid_ml_scheduler.execution.placing.placement import Placer, Snapshot
from hybrid_ml_scheduler.execution.placing.trials import trial_sentence
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["explanation"]


def explanation(future: HybridFuture, work: Work, placer: Placer, places: tuple[Place, ...]) -> Mapping[str, Any]:
    """What was believed when a task was placed, what was decided, and what was measured since."""
    found: dict[str, Any] = {
        "task_id": work.task_id,
        "kind": work.kind,
        "size": work.size,
        "memory_mb": work.nbytes / 1e6,
        "strategy": placer.strategy.name,
        "place": places[work.place].name,
        "predicted_s": work.predicted_s,
        "attempts": work.attempts,
        "state": _state(future),
    }
    if avoided := placer.failing.words(work.kind):
        found["avoided"] = avoided
    snapshot: Snapshot | None = work.snapshot
    if snapshot is None and work.task is not None:
        found["reason"] = f"{placer.strategy.name} holds it: it has not been placed yet"
        return found
    if snapshot is None:
        found["reason"] = "on this machine only the CPU has an implementation of it"
        if avoided:
            found["reason"] = f"other devices are avoided: {', '.join(avoided)}"
        return found
    names = [place.name for place in places]
    found["believed_s"] = {
        name: None if seconds >= NEVER_S else seconds for name, seconds in zip(names, snapshot.seconds, strict=True)
    }
    found["backlog_s"] = dict(zip(names, snapshot.backlogs_s, strict=True))
    if snapshot.decision is not None:
        found["gpu_fraction"] = snapshot.decision.gpu_fraction
    found["reasons"] = dict(placer.explain(work))
    found["reason"] = found["reasons"].get("reason", f"{placer.strategy.name} decided so")
    if snapshot.trial is not None:
        found["trial"] = trial_sentence(snapshot.trial, places[work.place].name)
        found["reason"] = f"{found['trial']}; {found['reason']}"
    return found


def _state(future: HybridFuture) -> str:
    if future.cancelled():
        return "cancelled"
    if future.done():
        return "failed" if future.exception() is not None else "done"
    return "running" if future.running() else "waiting"
