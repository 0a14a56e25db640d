"""The workloads known by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters

__all__ = ["DEFAULT_PRESET", "PRESETS", "preset", "preset_words"]

DEFAULT_PRESET = "mixed"

PRESETS: Mapping[str, WorkloadParameters] = MappingProxyType(
    {
        "mixed": WorkloadParameters(),
        "gpu_friendly": WorkloadParameters(
            size_range=(500.0, 5000.0),
            intensity_law="uniform",
            intensity_range=(0.7, 1.0),
            memory_law="uniform",
            memory_range=(10.0, 200.0),
            arrival_rate=2.0,
        ),
        "cpu_friendly": WorkloadParameters(
            size_law="uniform",
            size_range=(100.0, 150.0),
            intensity_law="uniform",
            intensity_range=(0.0, 0.3),
            memory_law="uniform",
            memory_range=(4000.0, 8000.0),
            arrival_rate=6.0,
        ),
        "heavy": WorkloadParameters(
            intensity_law="uniform",
            intensity_range=(0.6, 1.0),
            memory_law="uniform",
            memory_range=(100.0, 10_000.0),
            arrival_rate=200.0,
        ),
        "light": WorkloadParameters(
            size_law="uniform",
            size_range=(500.0, 1500.0),
            intensity_law="uniform",
            intensity_range=(0.1, 0.9),
            memory_law="uniform",
            memory_range=(50.0, 150.0),
            arrival_rate=1.0,
        ),
        # `mixed` in kinds whose real durations nobody is told; 36 tasks a second load the default node by about 60 %.
        "unknown": WorkloadParameters(kinds=12, noise_sigma=0.2, arrival_rate=36.0),
    }
)


def preset(name: str) -> WorkloadParameters:
    """Return a preset by name; a name that does not exist is refused with the nearest one."""
    if name not in PRESETS:
        raise WorkloadError(f"There is no workload preset '{name}'{nearest_hint(name, PRESETS)}")
    return PRESETS[name]


def preset_words(name: str) -> str:
    """A preset as people read it, `cpu_friendly` as `CPU-friendly`; any other name stays as it is."""
    return name.replace("cpu_", "CPU-").replace("gpu_", "GPU-") if name in PRESETS else name
