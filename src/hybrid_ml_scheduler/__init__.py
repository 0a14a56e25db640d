"""A laboratory and decision engine for placing tasks on a CPU and several GPUs.

Tasks and what becomes of them: `Task`, `TaskBatch`, `Decision`, `Outcome`. The machine: `Node`, `Cpu`, `Gpu`.
Strategies: `Scheduler`, `ClusterView`, `available`, `create`, `check_scheduler`. Workloads:
`WorkloadParameters`, `preset`, `generate`, `load`. Running and judging: `Simulation`, `run_batch`, `summarize`,
`certificate`, `Plan`, `run_race`. Running real tasks: `HybridExecutor`, `task`. Errors a user can mend: `HmsError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_ml_scheduler.cluster import Simulation, certificate, run_batch, summarize
    from hybrid_ml_scheduler.core import ClusterView, Decision, HmsError, Outcome, Scheduler, Task, TaskBatch
    from hybrid_ml_scheduler.execution import HybridExecutor, task
    from hybrid_ml_scheduler.physics import Cpu, Gpu, Node
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.schedulers import available, check_scheduler, create
    from hybrid_ml_scheduler.studies.race import run_race
    from hybrid_ml_scheduler.workload import WorkloadParameters, generate, load, preset

__version__ = "0.1.0"

__all__ = [
    "ClusterView",
    "Cpu",
    "Decision",
    "Gpu",
    "HmsError",
    "HybridExecutor",
    "Node",
    "Outcome",
    "Plan",
    "Scheduler",
    "Simulation",
    "Task",
    "TaskBatch",
    "WorkloadParameters",
    "available",
    "certificate",
    "check_scheduler",
    "create",
    "generate",
    "load",
    "preset",
    "run_batch",
    "run_race",
    "summarize",
    "task",
]

# Where each name lives; it is imported when it is first used, so that `hms --help` stays instant.
_HOMES = {
    "cluster": ("Simulation", "certificate", "run_batch", "summarize"),
    "core": ("ClusterView", "Decision", "HmsError", "Outcome", "Scheduler", "Task", "TaskBatch"),
    "execution": ("HybridExecutor", "task"),
    "plans.plan": ("Plan",),
    "studies.race": ("run_race",),
    "physics": ("Cpu", "Gpu", "Node"),
    "schedulers": ("available", "check_scheduler", "create"),
    "workload": ("WorkloadParameters", "generate", "load", "preset"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
