"""Which compiled forms speak for a strategy: those written for the `decide` that it has."""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.protocols import Foresees, HasRule, Learns, Scheduler

__all__ = ["with_foresight", "with_rule"]


def with_rule(scheduler: Scheduler) -> HasRule | None:
    """The strategy as one with a rule for whole batches; `None` where only `decide` can tell."""
    return scheduler if isinstance(scheduler, HasRule) and _speaks_for_decide(scheduler, "rule") else None


def with_foresight(scheduler: Scheduler) -> Foresees | None:
    """The strategy as one that decides a stretch at once; `None` where only `decide` can tell, or outcomes teach."""
    if isinstance(scheduler, Learns) or not isinstance(scheduler, Foresees):
        return None
    return scheduler if _speaks_for_decide(scheduler, "rule_ahead") else None


def _speaks_for_decide(scheduler: Scheduler, form: str) -> bool:
    """Whether no `decide` was written below the class that the form comes from: it would be passed over."""
    return _depth(scheduler, form) <= _depth(scheduler, "decide")


def _depth(scheduler: Scheduler, name: str) -> float:
    """How far up an attribute comes from: 0 is the instance, 1 its class; beyond all classes what is made on demand."""
    owners = (getattr(scheduler, "__dict__", {}), *map(vars, type(scheduler).__mro__))
    return next((float(depth) for depth, owner in enumerate(owners) if name in owner), math.inf)
