"""How much devices slow each other down: factors on the seconds of one class while the other one is busy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_ml_scheduler.core.errors import PlanError

__all__ = ["EVERY_KIND", "Slowdown", "check_slowdowns", "slowdown_of"]

EVERY_KIND = ""
"""The kind of a slowdown that holds for all kinds without one of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """What happens to one kind of work: `cpu` on the CPU while a GPU is busy, `gpu` on a GPU while the CPU is busy.

    `within` is the factor on the CPU while all its slots are busy; with fewer it is less in proportion.
    """

    kind: str = EVERY_KIND
    cpu: float = 1.0
    gpu: float = 1.0
    within: float = 1.0

    def __post_init__(self) -> None:
        for name in ("cpu", "gpu", "within"):
            value = getattr(self, name)
            if not 1.0 <= value < math.inf:
                where = f"kinds.{self.kind}.{name}" if self.kind else name
                raise PlanError(f"physics.interference.{where} = {value:g} must be a finite number of at least 1.")

    @property
    def factors(self) -> tuple[float, float, float]:
        """The three factors in the order of the fields."""
        return self.cpu, self.gpu, self.within


_NONE = Slowdown()


def check_slowdowns(slowdowns: Sequence[Slowdown]) -> None:
    """Refuse a kind that is named twice."""
    names = [one.kind for one in slowdowns]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise PlanError(f"physics.interference names the kind {doubled[0]!r} more than once.")


def slowdown_of(slowdowns: Sequence[Slowdown], kind: str) -> Slowdown:
    """The slowdown of a kind: its own, else that of every kind, else none."""
    found = _NONE
    for one in slowdowns:
        if one.kind == kind:
            return one
        if one.kind == EVERY_KIND:
            found = one
    return found
