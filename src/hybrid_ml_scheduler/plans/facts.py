"""With what a result is computed: versions of the parts, and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hybrid_ml_scheduler.hardware.machine import cpu_model
from hybrid_ml_scheduler.physics import Node

__all__ = ["hardware_words", "run_facts", "versions"]

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
