"""The program that reads an uploaded file completely and says what is in it, or in one sentence why not.

It runs in a process of its own (`python -m`), at low priority and with bounded memory: whatever somebody sends, the
race and its viewers go on. It takes one JSON object from stdin and gives one on stdout.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core import HmsError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.core import TaskBatch

__all__ = ["MOST_TASKS", "mean_rate", "read"]

MOST_TASKS = 200_000
_MOST_MEMORY_BYTES = 4 * 2**30
_MOST_TEXT_BYTES = 64 * 2**20
_NICENESS = 10
_KINDS_NAMED = 12
_LEFT_OUT = "left out"


def read(order: Mapping[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """What the file in the folder holds: facts of a trace, of a hardware profile, or of a table of throughputs."""
    path = folder / order["name"]
    if order["use"] == "hardware":
        return {"devices": _devices(path), "notes": []}
    _refuse_if_vast(path)
    if order["use"] == "throughputs":
        from hybrid_ml_scheduler.workload.traces import gavel

        return {"types": list(gavel.throughputs(path)), "notes": []}
    from hybrid_ml_scheduler.workload import load

    batch = load(path, dialect=order["dialect"], options=order["options"])
    if len(batch) > MOST_TASKS:
        raise HmsError(f"{path}: a live race takes at most {MOST_TASKS:,} tasks, and the file has {len(batch):,}.")
    return _facts(batch)


def _refuse_if_vast(path: Path) -> None:
    """Refuse a packed file that grows beyond what a race could hold; no more of it is unpacked than that."""
    with path.open("rb") as raw:
        if raw.read(2) != b"\x1f\x8b":
            return
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as packed:  # damage is told by the reader
        left = _MOST_TEXT_BYTES
        while piece := packed.read(2**20):
            left -= len(piece)
            if left < 0:
                raise HmsError(f"{path}: unpacked, an upload has at most {_MOST_TEXT_BYTES // 2**20} MB of text.")


def _devices(path: Path) -> list[str]:
    from hybrid_ml_scheduler.hardware import node_from_profile

    return list(node_from_profile(path).device_names)


def mean_rate(batch: TaskBatch) -> float | None:
    """Tasks per second over the time of the arrivals; None where all arrive at once."""
    span = float(batch.arrival_time[-1] - batch.arrival_time[0])
    return (len(batch) - 1) / span if span > 0.0 else None


def _facts(batch: TaskBatch) -> dict[str, Any]:
    import numpy as np

    counts = np.bincount(batch.kind, minlength=len(batch.kind_names))
    order = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code] and batch.kind_names[code]]
    return {
        "tasks": len(batch),
        "kinds": len(order),
        "commonest_kinds": {batch.kind_names[code]: int(counts[code]) for code in order[:_KINDS_NAMED]},
        "span_s": float(batch.arrival_time[-1] - batch.arrival_time[0]),
        "arrival_rate": mean_rate(batch),
        "measured": int((~(np.isnan(batch.cpu_time) & np.isnan(batch.gpu_time))).sum()),
        "most_gpus": int(batch.gpus_required.max()),
        "dependencies": len(batch.parent_ids),
        "left_out": [note for note in batch.assumptions if _LEFT_OUT in note],
        "notes": [note for note in batch.assumptions if _LEFT_OUT not in note],
    }


def _bound_self() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on every platform
        import resource

        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))


def _answer(text: str) -> dict[str, Any]:
    try:
        return {"facts": read(json.loads(text))}
    except HmsError as error:
        return {"refusal": str(error)}
    except (MemoryError, RecursionError):
        return {"refusal": "The file needs more memory than a reader is given."}


if __name__ == "__main__":
    _bound_self()
    print(json.dumps(_answer(sys.stdin.read())))
