"""Overload, said in one sentence: which device gets more work than it can do, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.cluster.area import Ways, best_weights, weighted_work
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics import Durations, Node, durations

__all__ = ["DeviceLoads", "device_loads", "overload_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLoads:
    """Seconds of work that arrive per second: what only the CPU can do, what only GPUs can do, and the node's load.

    `node` is the load: the seconds that all devices together need for the work of one second, as cheaply as possible.
    """

    cpu: float
    gpus: float
    node: float
    slots: int
    num_gpus: int

    @property
    def words(self) -> str | None:
        """The sentence about what is overloaded; None where every device can keep up."""
        if self.cpu > self.slots:
            most = "" if self.slots == 1 else f", and its {self.slots} slots do {self.slots} s"
            return f"the CPU is overloaded: {self.cpu:.3g} s of work that only it can do arrive per second{most}."
        if self.gpus > self.num_gpus:
            its, do = ("GPU is", "does 1 s") if self.num_gpus == 1 else ("GPUs are", f"do {self.num_gpus} s")
            return (
                f"the {its} overloaded: {self.gpus:.3g} s of work that no CPU can do arrive per second, and "
                f"{amount(self.num_gpus, 'GPU')} {do}."
            )
        if self.node > 1.0:
            return (
                f"the CPU and {amount(self.num_gpus, 'GPU')} are overloaded: together they need {self.node:.3g} s for "
                "the work that arrives in one second."
            )
        return None


def device_loads(batch: TaskBatch, node: Node, seconds: Durations) -> DeviceLoads | None:
    """How loaded each sort of device is over the time of the arrivals; None where all tasks arrive at once."""
    span = float(np.ptp(batch.arrival_time)) if len(batch) > 1 else 0.0
    if span <= 0.0:
        return None
    per_second = (len(batch) - 1) / len(batch) / span  # the first arrival begins the first gap
    ways = Ways.of(batch, node, seconds)
    on_gpus = np.minimum(ways.gpu_s, ways.paged_s).min(axis=1)
    beside_gpus = np.where(np.isfinite(ways.paged_s), 0.0, ways.rest_s).min(axis=1)
    return DeviceLoads(
        cpu=_total(np.minimum(ways.cpu_s, beside_gpus)) * per_second,
        gpus=_total(np.where(np.isfinite(ways.cpu_s), 0.0, on_gpus)) * per_second,
        node=_total(weighted_work(ways, best_weights(ways))) * per_second,
        slots=node.cpu.slots,
        num_gpus=node.num_gpus,
    )


def _total(work_s: FloatColumn) -> float:
    """The work of the tasks that some device can do."""
    return float(work_s[np.isfinite(work_s)].sum())


def overload_words(batch: TaskBatch, node: Node, seconds: Durations | None = None) -> str | None:
    """The sentence that every command prints where more work arrives than a device can do; None where all keep up.

    Durations are those of the formula unless others are given.
    """
    loads = device_loads(batch, node, durations(batch, node) if seconds is None else seconds)
    return None if loads is None else loads.words
