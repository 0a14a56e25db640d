"""Real tasks on real devices: an executor, its workers, and what it has learned about durations.

`HybridExecutor` is a `concurrent.futures.Executor`; `task` gives a function a kind, a size and further
implementations. Names are imported when they are first used: a worker process starts from this package too, and
needs little of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_ml_scheduler.execution.devices import Device
    from hybrid_ml_scheduler.execution.errors import (
        ExecutionError,
        ExecutorBroken,
        KeptResultLost,
        NotTransferable,
        TaskTimeout,
        WorkerDied,
    )
    from hybrid_ml_scheduler.execution.executor import HybridExecutor
    from hybrid_ml_scheduler.execution.futures import HybridFuture, Kept
    from hybrid_ml_scheduler.execution.options import ExecutorOptions
    from hybrid_ml_scheduler.execution.tasks import TaskFunction, task

__all__ = [
    "Device",
    "ExecutionError",
    "ExecutorBroken",
    "ExecutorOptions",
    "HybridExecutor",
    "HybridFuture",
    "Kept",
    "KeptResultLost",
    "NotTransferable",
    "TaskFunction",
    "TaskTimeout",
    "WorkerDied",
    "task",
]

_HOMES = {
    "devices": ("Device",),
    "errors": ("ExecutionError", "ExecutorBroken", "KeptResultLost", "NotTransferable", "TaskTimeout", "WorkerDied"),
    "executor": ("HybridExecutor",),
    "futures": ("HybridFuture", "Kept"),
    "options": ("ExecutorOptions",),
    "tasks": ("TaskFunction", "task"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
