"""What this machine is, in words that name neither its owner nor its place."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

__all__ = ["cpu_model", "describe_machine", "usable_cores"]


def cpu_model() -> str:
    """The processor's name as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    if platform.system() == "Darwin":
        asked = ("sysctl", "-n", "machdep.cpu.brand_string")
        try:
            return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """How many cores this process may use; OMP_NUM_THREADS, where set, is the user's word."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_machine() -> dict[str, str]:
    """System, architecture and versions; no host name, no user, no path."""
    import torch

    found = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cpu": cpu_model(),
        "cores": str(usable_cores()),
    }
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
    return found
