"""Arrival times of tasks from a file: as recorded, stretched, at a rate, or at a load of the node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import TaskBatch

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["ArrivalChoice", "with_arrivals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalChoice:
    """How arrival times change: by a factor, to a mean rate, or to a load of the GPUs; None where nothing is asked.

    `usual_load` is what a dialect takes where nothing is asked; `gpus` is how many GPUs a load is meant for, those
    of the node unless given.
    """

    scale: float | None = None
    rate: float | None = None
    load: float | None = None
    usual_load: float | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        asked = [name for name, value in self._asked().items() if value is not None]
        if len(asked) > 1:
            raise PlanError(f"{asked[0]} cannot be given together with {asked[1]}: both would set the arrival times.")
        if self.rate is not None and not 0.0 < self.rate < float("inf"):
            raise PlanError(f"workload.arrival_rate = {self.rate!r} must be a finite number above 0.")

    def _asked(self) -> dict[str, float | None]:
        return {"arrival_scale": self.scale, "target_load": self.load, "arrival_rate": self.rate}

    @property
    def is_asked(self) -> bool:
        """Whether a person asked for anything."""
        return any(value is not None for value in self._asked().values())


def with_arrivals(batch: TaskBatch, choice: ArrivalChoice, node: Node | None) -> tuple[TaskBatch, str | None]:
    """The batch with its arrival times changed, and in words how; None where all tasks arrive at once."""
    span = float(batch.arrival_time[-1] - batch.arrival_time[0])
    if span == 0.0:
        if choice.is_asked and choice.scale != 1.0:
            raise PlanError(
                "arrival_scale, target_load and arrival_rate need tasks that arrive at different times; "
                "these all arrive at once."
            )
        return batch, None
    factor, why = _factor(batch, choice, span, node)
    text = f"arrival times are {why}; the last task arrives at {batch.arrival_time[-1] * factor:,.6g} s."
    if factor == 1.0:
        return batch, text
    times = batch.arrival_time * factor
    times.flags.writeable = False
    return replace(batch, arrival_time=times), text


def _factor(batch: TaskBatch, choice: ArrivalChoice, span: float, node: Node | None) -> tuple[float, str]:
    if choice.scale is not None and choice.scale != 1.0:
        return choice.scale, f"multiplied by {choice.scale:g} as asked"
    if choice.rate is not None:
        factor = (len(batch) - 1) / span / choice.rate
        return factor, f"multiplied by {factor:.6g}, so that {choice.rate:g} tasks arrive a second (arrival_rate)"
    load = choice.load if choice.load is not None else choice.usual_load
    if load is None or choice.scale is not None:
        return 1.0, "as recorded (arrival_scale 1)"
    gpu_seconds, found = _gpu_seconds(batch, node, choice.gpus)
    if gpu_seconds == 0.0:
        raise PlanError("target_load is a load of the GPUs, and no task needs one.")
    gpus = choice.gpus if choice.gpus is not None else found
    factor = gpu_seconds / (gpus * load * span)
    return factor, (
        f"multiplied by {factor:.6g}, so that the GPU times alone would keep {gpus:g} GPU{'' if gpus == 1 else 's'} "
        f"busy {load:.0%} of the time (target_load {load:g})"
    )


def _gpu_seconds(batch: TaskBatch, node: Node | None, asked: float | None) -> tuple[float, int]:
    """GPU-seconds of all tasks, as a mean over the node's GPUs, and how many GPUs there are."""
    from hybrid_ml_scheduler.physics import Gpu, Node, durations  # compiled code: only when a load is asked for

    count = Node().num_gpus if asked is None else max(1, int(asked))
    usual = Node(gpus=(Gpu(type=batch.gpu_types[0]) if batch.gpu_types else Gpu(),) * count)
    used = usual if node is None else node
    seconds = durations(batch, used)
    each = seconds.gpu_s[:, seconds.gpu_kind].mean(axis=1)
    return float((each * batch.gpus_required).sum()), used.num_gpus
