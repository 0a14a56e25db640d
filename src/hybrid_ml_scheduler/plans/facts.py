"""With what a result is computed: versions of the parts, and the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hybrid_ml_scheduler.hardware.machine import cpu_model

__all__ = ["computing_facts", "versions"]

_PARTS = ("hybrid-ml-scheduler", "numpy", "numba", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """The versions of the parts that a result depends on."""
    return {"python": platform.python_version(), **{part: _version(part) for part in _PARTS}}


def _version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return "absent"


def computing_facts() -> dict[str, Any]:
    """With what a result was computed: versions of the parts, and the machine."""
    machine = {"cpu": cpu_model(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}
    return {"versions": versions(), "machine": machine}
