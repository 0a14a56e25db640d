"""The node: one CPU, several GPUs and the rules of the house. The only file with a default watt or price."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import IntEnum

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.validation import MOST_GPUS, MOST_SLOTS
from hybrid_ml_scheduler.physics.gpu_types import REFERENCE_TYPE, GpuType, gpu_type
from hybrid_ml_scheduler.physics.interference import Slowdown, check_slowdowns

__all__ = [
    "CPU_ONLY",
    "GPU_ONLY",
    "WHOLE",
    "CoExecution",
    "CostModel",
    "Cpu",
    "Curves",
    "Gpu",
    "MemoryRule",
    "Node",
    "RentalOf",
    "SpeedupLaw",
    "checked_gpu_count",
]


class SpeedupLaw(IntEnum):
    """How much faster a GPU is, as a function of compute intensity."""

    LINEAR = 0
    AMDAHL = 1


class CoExecution(IntEnum):
    """Whether the two parts of a split overlap in time."""

    PARALLEL = 0
    SERIAL = 1


class MemoryRule(IntEnum):
    """What happens to a GPU share that does not fit the GPU's memory."""

    CPU = 0
    FAIL = 1
    PAGE = 2


WHOLE = 4
"""Added to the code of a memory rule for a task that must not be cut: a share goes to the nearer whole device."""

CPU_ONLY = 3
"""In place of a memory rule for a task that needs no GPU: it runs on the CPU whatever is decided."""

GPU_ONLY = 8
"""Added besides `WHOLE` for a task that runs on GPUs only: every share is the whole task, and it is never moved."""


class CostModel(IntEnum):
    """Which of the two prices is called `cost`."""

    RENTAL = 0
    ELECTRICITY = 1


class RentalOf(IntEnum):
    """What rent is paid for: busy device time, or the whole node from time zero to the last finish."""

    BUSY = 0
    NODE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The CPU's speed (1 = reference), power and price.

    It serves `slots` parts side by side, first in, first out, each at the CPU's speed; power and price are those of the
    whole CPU, so a part in one of several slots is charged its share of them.
    """

    speed: float = 1.0
    power_w: float = 30.0
    idle_power_w: float = 0.0
    price_usd_s: float = 0.00002
    slots: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU: speed (1 = reference), memory, bus bandwidth, launch overhead, power and price.

    `type` is a name of the catalogue ("" = not named). `dense_speed` and `stream_speed` say how many times faster than
    the GPU that the physics describes it is at intensity 1 and 0; between them the geometric mean counts. `fp32_speed`
    takes the place of `dense_speed` for a task that computes in FP32 without tensor cores.
    """

    speed: float = 1.0
    memory_mb: float = 8_000.0
    bandwidth_mb_s: float = 16_000.0
    launch_s: float = 0.0
    power_w: float = 50.0
    idle_power_w: float = 0.0
    price_usd_s: float = 0.0001
    type: str = ""
    dense_speed: float = 1.0
    stream_speed: float = 1.0
    fp32_speed: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Measured seconds over problem size, which replace the base duration formula.

    `serial` is the time of work without parallel gain (intensity 0), `dense` that of a matrix
    product (intensity 1). Between sizes: straight lines in log-log; between intensities: geometric.
    """

    size: FloatColumn
    cpu_serial_s: FloatColumn
    cpu_dense_s: FloatColumn
    gpu_serial_s: FloatColumn
    gpu_dense_s: FloatColumn
    source: str = "measured"
    gpu_type: str = ""

    def __post_init__(self) -> None:
        rising = len(self.size) >= 2 and bool(np.all(np.diff(self.size) > 0)) and self.size[0] > 0
        if not rising:
            raise PlanError("physics: measured curves need at least two sizes above 0, in rising order.")

    def logs(self) -> FloatColumn:
        """Return the five curves as rows of natural logarithms, for the compiled functions."""
        rows = (self.size, self.cpu_serial_s, self.cpu_dense_s, self.gpu_serial_s, self.gpu_dense_s)
        return np.ascontiguousarray(np.log(np.vstack(rows)))


def checked_gpu_count(count: object) -> int:
    """Return a number of GPUs, or refuse what is none."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_GPUS:
        raise PlanError(f"simulation.num_gpus = {count!r} must be a whole number from 1 to {MOST_GPUS}.")
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Everything the physics needs to know about the machine."""

    cpu: Cpu = field(default_factory=Cpu)
    gpus: tuple[Gpu, ...] = field(default_factory=lambda: (Gpu(),) * 4)
    speedup_law: SpeedupLaw = SpeedupLaw.LINEAR
    max_speedup: float = 4.0
    co_execution: CoExecution = CoExecution.PARALLEL
    memory_rule: MemoryRule = MemoryRule.CPU
    paging_slowdown: float = 10.0
    cost_model: CostModel = CostModel.RENTAL
    rental_of: RentalOf = RentalOf.BUSY
    electricity_usd_kwh: float = 0.15
    curves: Curves | None = None
    types: tuple[GpuType, ...] = ()
    interference: tuple[Slowdown, ...] = ()

    def __post_init__(self) -> None:
        if not self.gpus:
            raise PlanError("physics: a node needs at least one GPU.")
        checked_gpu_count(len(self.gpus))
        check_slowdowns(self.interference)
        _check_device("cpu", self.cpu)
        for index, gpu in enumerate(self.gpus):
            _check_device(f"gpu_{index}", gpu)
        for name, least in (("max_speedup", 1.0), ("paging_slowdown", 1.0), ("electricity_usd_kwh", 0.0)):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= least):
                raise PlanError(f"physics.{name} = {value:g} must be a finite number of at least {least:g}.")

    @classmethod
    def uniform(cls, num_gpus: int) -> Node:
        """The default node with another number of GPUs."""
        return cls(gpus=(Gpu(),) * checked_gpu_count(num_gpus))

    @property
    def num_gpus(self) -> int:
        """How many GPUs there are."""
        return len(self.gpus)

    @property
    def described_type(self) -> GpuType:
        """The type of GPU that the physics describes: the profile's, or the one the default figures are those of."""
        if self.curves is None:
            return gpu_type(REFERENCE_TYPE, self.types)
        if not self.curves.gpu_type:
            raise PlanError(
                f"The GPU of the hardware profile ({self.curves.source}) is of no known type, so that times by GPU "
                "type cannot be scaled to it."
            )
        return gpu_type(self.curves.gpu_type, self.types)

    @property
    def device_names(self) -> tuple[str, ...]:
        """The devices by name, the CPU first."""
        return ("cpu", *(f"gpu_{index}" for index in range(self.num_gpus)))

    @property
    def price_usd_s(self) -> float:
        """Rent of all devices together."""
        return self.cpu.price_usd_s + sum(gpu.price_usd_s for gpu in self.gpus)

    def gpu_column(self, name: str) -> FloatColumn:
        """One property of all GPUs as a column."""
        return np.array([getattr(gpu, name) for gpu in self.gpus], dtype=np.float64)


_MAY_BE_ZERO = frozenset({"power_w", "idle_power_w", "price_usd_s", "launch_s"})


def _check_device(name: str, device: Cpu | Gpu) -> None:
    for item in fields(device):
        value = getattr(device, item.name)
        if item.name == "type":
            continue
        if item.name == "slots":
            _check_slots(value)
            continue
        fits = math.isfinite(value) and (value >= 0 if item.name in _MAY_BE_ZERO else value > 0)
        if not fits:
            demand = "of at least 0" if item.name in _MAY_BE_ZERO else "above 0"
            raise PlanError(f"physics.{name}.{item.name} = {value:g} must be a finite number {demand}.")


def _check_slots(count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_SLOTS:
        raise PlanError(f"physics.cpu.slots = {count!r} must be a whole number from 1 to {MOST_SLOTS}.")
