"""Frugal finish: earliest finish that also pays for the device-seconds it uses."""

from __future__ import annotations

from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP
from hybrid_ml_scheduler.schedulers.rules.earliest import LeastCharge

__all__ = ["FrugalFinish"]

PRICE = 1.0


class FrugalFinish(LeastCharge):
    """The split and the GPU with the least completion + price x device-seconds."""

    name = "frugal_finish"
    reason = "earliest completion, plus a price for every device-second used"

    def __init__(self, step: float = DEFAULT_STEP, price: float = PRICE) -> None:
        super().__init__(step=step, price=price)
