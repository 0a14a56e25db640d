"""What a result depends on beside its plan: versions, and the files that the plan only names.

A results folder keeps the digests. Weights, traces, profiles or strategies that change between an interrupt and
the next start would otherwise leave a folder whose parts do not belong together. It also says what was run, with
which versions and on which machine.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.knowledge import split_level
from hybrid_ml_scheduler.hardware.machine import cpu_model
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.schedulers import available
from hybrid_ml_scheduler.schedulers.registry import ENTRY_POINT_GROUP
from hybrid_ml_scheduler.schedulers.tuned import is_tuned_file

__all__ = ["RESULTS_FORMAT", "changed_input", "hardware_words", "inputs_of", "program_inputs", "run_facts", "versions"]

# Raise this by one with every change that lets the same plan give other numbers or other files (whenever the golden
# runs change, for one): between two releases the version alone does not tell, and half-done folders would mix.
RESULTS_FORMAT = 3
_VERSION = "version of "
_FORMAT = "format of results"


def program_inputs(strategies: Iterable[str]) -> dict[str, str]:
    """The versions of the program and of installed strategies, and the digests of the weights it ships for these."""
    names = set(strategies)
    found = {f"{_VERSION}hms": versions()["hybrid-ml-scheduler"], _FORMAT: str(RESULTS_FORMAT)}
    found.update(_installed_versions(names))
    shipped = files("hybrid_ml_scheduler.schedulers") / "weights"
    for file in sorted(shipped.iterdir(), key=lambda one: one.name):
        if file.name.partition(".")[0] in names:
            found[f"shipped {file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _installed_versions(names: set[str]) -> dict[str, str]:
    """The versions of the distributions that bring strategies among these names."""
    entries = available()
    targets = {name: entries[name].target for name in names & entries.keys() if entries[name].kind == "plugin"}
    if not targets:
        return {}  # the metadata of everything installed is not read for nothing
    points = entry_points(group=ENTRY_POINT_GROUP)
    brought = [point.dist for point in points if targets.get(point.name) == point.value]
    return {f"{_VERSION}{dist.name}": dist.version for dist in brought if dist is not None}


def inputs_of(plan: Plan) -> dict[str, str]:
    """Everything a plan's results depend on beside its values."""
    found = program_inputs(plan.schedulers)
    for path in _named_files(plan):
        if path.is_file():
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _named_files(plan: Plan) -> Iterator[Path]:
    if not plan.workload.is_preset:
        yield Path(plan.workload.source)
    if plan.hardware is not None:
        yield Path(plan.hardware)
    for spec in plan.schedulers:
        if ".py:" in spec:
            yield Path(spec.rpartition(":")[0])
        elif is_tuned_file(split_level(spec)[0]):
            yield Path(split_level(spec)[0])
    for options in plan.options.values():
        model = options.get("model")
        if isinstance(model, str):
            yield Path(model)


def changed_input(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """The first input that is not what it was, in words; None where all are the same."""
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            told = f" ({before.get(name, 'unknown')}; now {now.get(name, 'unknown')})"
            return f"another {name}{told if name == _FORMAT or name.startswith(_VERSION) else ''}"
    return None


_PARTS = ("hybrid-ml-scheduler", "numpy", "numba", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """The versions of the parts that a result depends on."""
    return {"python": platform.python_version(), **{part: _version(part) for part in _PARTS}}


def _version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return "absent"


def run_facts(kind: str, plan: Mapping[str, Any], digest: str, **told: Any) -> dict[str, Any]:
    """What a results folder says about its run: what was run, what came to light, with which versions and where."""
    machine = {"cpu": cpu_model(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}
    return {"kind": kind, "plan": plan, "plan_digest": digest, **told, "versions": versions(), "machine": machine}


def hardware_words(node: Node) -> str:
    """Where the numbers of a node come from."""
    return "default physics" if node.curves is None else node.curves.source
