"""What it means that two batches are identical, and where sample traces lie."""

from __future__ import annotations

import os
from pathlib import Path

from hybrid_ml_scheduler.core import TaskBatch

COLUMNS = (
    "task_id",
    "size",
    "compute_intensity",
    "memory_required",
    "arrival_time",
    "cpu_time",
    "gpu_time",
    "parent_offsets",
    "parent_ids",
    "duration_factor",
    "requested_time",
    "deadline",
    "divisible",
    "gpus_required",
    "gpu_times",
    "speedup_factor",
)
DATA = Path(__file__).parents[2] / "data"
REPOSITORY = Path(__file__).parents[3]


def fingerprint(batch: TaskBatch) -> dict[str, bytes | tuple[str, ...]]:
    """The bytes of every column, the kinds by name, the GPU types and the assumptions."""
    kinds = tuple(batch.kind_names[code] for code in batch.kind.tolist())
    words = {"kind": kinds, "gpu_types": batch.gpu_types, "assumptions": batch.assumptions}
    return {name: getattr(batch, name).tobytes() for name in COLUMNS} | words


def real_files() -> list[Path]:
    """Public traces that lie beside the repository or where HMS_TRACES points; none in a bare clone."""
    patterns = ("philly*/*.csv*", "azure_llm*/*.csv*", "alibaba*/*pod*.csv*", "pwa_swf/*.swf*", "wfinstances*/*.json*")
    return _beside(patterns)


def gavel_streams() -> list[Path]:
    """Public streams of Gavel, whose times are by type of GPU; none in a bare clone."""
    return _beside(("gavel*/*.trace*",))


def _beside(patterns: tuple[str, ...]) -> list[Path]:
    folder = Path(os.environ.get("HMS_TRACES", REPOSITORY.parent / "shared" / "traces"))
    return sorted(file for pattern in patterns for file in folder.glob(pattern))
