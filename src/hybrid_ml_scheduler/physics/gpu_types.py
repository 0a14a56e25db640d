"""A catalogue of GPU types: published figures, and example prices that are meant to be edited.

Figures are those of the makers' data sheets: peak FP32 without tensor cores, peak FP16 on tensor cores without
sparsity, memory bandwidth, board power. A bus is 16, 32 or 64 GB/s for PCIe 3, 4 or 5 with sixteen lanes. Prices are
examples of on-demand list prices of large clouds, rounded, not quotations; docs/hardware.md names the sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.text import nearest_hint

__all__ = ["GPU_TYPES", "PRICES_OF", "REFERENCE_TYPE", "GpuCurves", "GpuType", "gpu_type", "type_in"]

PRICES_OF = "November 2026"
_PCIE_3, _PCIE_4, _PCIE_5 = 16_000.0, 32_000.0, 64_000.0
# The default GPU of the physics (8,000 MB, PCIe 3, 50 W) is that of this board.
REFERENCE_TYPE = "p4"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GpuCurves:
    """Measured seconds of one GPU over problem size, as logarithms: streaming (intensity 0), matrix product (1)."""

    log_size: FloatColumn
    log_serial_s: FloatColumn
    log_dense_s: FloatColumn

    def log_seconds(self, size: FloatColumn, intensity: FloatColumn) -> FloatColumn:
        """Logarithm of the seconds of each task; beyond the measured sizes as at the nearest one."""
        at = np.log(size)
        serial = np.interp(at, self.log_size, self.log_serial_s)
        dense = np.interp(at, self.log_size, self.log_dense_s)
        found: FloatColumn = serial + intensity * (dense - serial)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GpuType:
    """One type of GPU; `curves` and `profile` are there where somebody measured one.

    `tensor_tflops` is 0 for a board without tensor cores or fast FP16: then FP32 counts. `speed` multiplies every speed
    that is scaled to this type (1 = as measured or published); a time measured on the type stays as it is.
    """

    name: str
    title: str
    memory_mb: float
    memory_gb_s: float
    fp32_tflops: float
    bandwidth_mb_s: float
    power_w: float
    price_usd_h: float
    tensor_tflops: float = 0.0
    speed: float = 1.0
    profile: str = ""
    curves: GpuCurves | None = None

    def __post_init__(self) -> None:
        for key in ("memory_mb", "memory_gb_s", "fp32_tflops", "bandwidth_mb_s", "speed"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value > 0.0):
                raise PlanError(f"physics.types.{self.name}.{key} = {value:g} must be a finite number above 0.")
        for key in ("power_w", "price_usd_h", "tensor_tflops"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value >= 0.0):
                raise PlanError(f"physics.types.{self.name}.{key} = {value:g} must be a finite number of at least 0.")

    @property
    def dense_tflops(self) -> float:
        """The peak of matrix products in half precision, or in FP32 on a board that has nothing faster."""
        return max(self.tensor_tflops, self.fp32_tflops)

    @property
    def has_tensor_cores(self) -> bool:
        """Whether half precision runs on units of its own: several times as fast as FP32, not once or twice."""
        return self.tensor_tflops > 3.0 * self.fp32_tflops


def _type(name: str, title: str, figures: tuple[float, float, float, float, float, float, float]) -> GpuType:
    memory_gb, memory_gb_s, tflops, tensor_tflops, bus, power, price = figures
    return GpuType(
        name=name,
        title=title,
        memory_mb=1000.0 * memory_gb,
        memory_gb_s=memory_gb_s,
        fp32_tflops=tflops,
        tensor_tflops=tensor_tflops,
        bandwidth_mb_s=bus,
        power_w=power,
        price_usd_h=price,
    )


# memory GB, memory GB/s, FP32 TFLOPS, FP16 TFLOPS on tensor cores, bus MB/s, board power W, example price $/h
_ALL = (
    _type("k80", "Tesla K80 (one of the board's two GPUs)", (12, 240, 4.37, 0, _PCIE_3, 150, 0.90)),
    _type("p4", "Tesla P4", (8, 192, 5.5, 0, _PCIE_3, 50, 0.60)),
    _type("p100", "Tesla P100 PCIe 16 GB", (16, 732, 9.3, 18.7, _PCIE_3, 250, 1.46)),
    _type("t4", "T4", (16, 320, 8.1, 65, _PCIE_3, 70, 0.53)),
    _type("v100", "Tesla V100 PCIe 16 GB", (16, 900, 14.0, 112, _PCIE_3, 250, 2.48)),
    _type("a10", "A10", (24, 600, 31.2, 125, _PCIE_4, 150, 1.00)),
    _type("l4", "L4", (24, 300, 30.3, 121, _PCIE_4, 72, 0.80)),
    _type("a100", "A100 PCIe 80 GB", (80, 1935, 19.5, 312, _PCIE_4, 300, 2.50)),
    _type("l40s", "L40S", (48, 864, 91.6, 362, _PCIE_4, 350, 1.86)),
    _type("h100", "H100 SXM 80 GB", (80, 3350, 67.0, 989, _PCIE_5, 700, 4.25)),
    _type("h200", "H200 SXM 141 GB", (141, 4800, 67.0, 989, _PCIE_5, 700, 5.75)),
)
GPU_TYPES: Mapping[str, GpuType] = MappingProxyType({one.name: one for one in _ALL})


def gpu_type(name: str, own: Sequence[GpuType] = ()) -> GpuType:
    """A type by name, a plan's own before the catalogue's; an unknown one is refused with the nearest."""
    known = {**GPU_TYPES, **{one.name: one for one in own}}
    if name not in known:
        hint = nearest_hint(name, known)
        raise PlanError(f"There is no GPU type {name!r}{hint} `hms nodes` lists them; physics.types adds one.")
    return known[name]


def type_in(text: str) -> str:
    """The type whose name stands in a device's name such as "NVIDIA H200"; "" if none does."""
    words = text.lower().replace("-", " ").replace("_", " ").split()
    return next((name for name in GPU_TYPES if name in words), "")
