"""Messages about a node in motion: what runs, what waits, and for how long."""

from __future__ import annotations

from pydantic import Field

from hybrid_ml_scheduler.service.wire.common import Answer

__all__ = ["NodeMotion", "Parts", "StrategyMotion"]


class Parts(Answer):
    """Parts of tasks as columns, by their beginning."""

    device: list[int] = Field(description="Place in `devices`: 0 is the CPU.")
    task_id: list[int]
    begin_s: list[float]
    end_s: list[float]


class StrategyMotion(Answer):
    """One strategy's devices around now; what begins later than now waits in a queue."""

    scheduler: str
    parts: Parts
    left_out: int = Field(description="Parts in this stretch of time that are not sent, because there are too many.")
    waiting: list[int] = Field(description="Parts that wait at each of `times_s`.")
    waiting_now: list[int] = Field(description="Parts that wait now, for each device.")
    free_in_s: list[float] = Field(description="Seconds until each device has done all that is promised to it.")


class NodeMotion(Answer):
    """The whole node around the last arrival of a run, for a few strategies."""

    run_id: int | None
    now_s: float = Field(description="Simulated time of the last arrival.")
    begin_s: float
    end_s: float
    devices: list[str]
    times_s: list[float] = Field(description="Moments from `begin_s` to now.")
    strategies: list[StrategyMotion]
    is_complete: bool = Field(description="False where parts of tasks long before may be missing.")
