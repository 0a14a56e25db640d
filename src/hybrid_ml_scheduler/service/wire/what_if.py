"""Messages about what other decisions would have done."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid_ml_scheduler.service.wire.common import Answer

__all__ = ["Costliest", "OtherDecision", "WhatIfAnswer", "WhatIfTask"]


class OtherDecision(Answer):
    """One other decision and its effect; numbers are null where the task would fail."""

    device: str
    gpu_fraction: float
    latency_s: float | None
    latency_change_s: float | None = Field(description="Below 0 the task itself would have been done sooner.")
    others_change_s: float | None = Field(description="Change of the summed latency of all other tasks.")
    total_change_s: float | None = Field(description="Change of the summed latency of all tasks.")
    makespan_s: float | None


class WhatIfTask(Answer):
    """A task, what was decided for it, and the effect of every alternative, the best for all tasks first."""

    task_id: int
    device: str
    gpu_fraction: float
    latency_s: float | None
    regret_s: float = Field(description="By how much the best alternative would have shortened all latencies; 0: none.")
    alternatives: list[OtherDecision]


class _Answered(Answer):
    """From which tasks of which run an answer comes, and what was done with the decisions after the changed one."""

    run_id: int
    scheduler: str
    later_decisions: Literal["anew", "kept"] = Field(
        description="`anew`: the strategy decided all later tasks again; `kept`: they stay as they were recorded."
    )
    explanation: str
    first_task: int
    last_task: int


class WhatIfAnswer(_Answered):
    """One task with its alternatives."""

    task: WhatIfTask


class Costliest(_Answered):
    """The decisions that cost most among the tasks with the longest latency."""

    looked_at: int
    tasks: list[WhatIfTask]
