"""What a strategy decides, and what came of it.

Named tuples rather than frozen dataclasses: one of each is made for every task, and they are made four times faster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple

__all__ = [
    "CPU_ONLY",
    "FAILED",
    "FITTED",
    "NOT_FITTING",
    "NO_GPU",
    "PARENT_FAILED",
    "Decision",
    "Outcome",
    "Parts",
    "device_name",
    "held_gpus",
    "named_gpus",
    "outcome_of",
    "parts_of",
]

NO_GPU = -1
# What became of a decision: its share fitted the GPU's memory; did not, and fell back or paged; the task failed for
# it; or it failed with a parent. From FAILED on a task has no finish.
FITTED, NOT_FITTING, FAILED, PARENT_FAILED = 0, 1, 2, 3


_MOST_NAMED = 3  # GPUs of a gang that are named one by one
_LONGEST_NAME = 32  # what is stored has a bounded length
_BITS = "gpus "


class Decision(NamedTuple):
    """Where a ready task goes: a share for one GPU, the rest for the CPU.

    `gpu` may stay `None`: the cluster then takes the GPU with the least backlog.
    `confidence` in [0, 1] is for strategies that know how sure they are.
    """

    gpu_fraction: float
    gpu: int | None = None
    confidence: float | None = None


CPU_ONLY = Decision(gpu_fraction=0.0)


class Parts(NamedTuple):
    """What a split turns into once the memory rule has been applied."""

    gpu_fraction: float
    cpu_s: float
    gpu_s: float
    out_of_memory: bool
    failed: bool


class Outcome(NamedTuple):
    """What happened to one task on one strategy's cluster.

    `gpu_fraction` and `gpu` are what was carried out (after the memory rule), `gpu` is -1 for CPU only.
    The start on a device that is not used is NaN; a failed task has NaN times.
    `rounded` says that a share was asked for of a task that must not be cut; `gang` are the further GPUs that it held.
    """

    task_id: int
    gpu_fraction: float
    gpu: int
    arrival_s: float
    ready_s: float
    cpu_start_s: float
    gpu_start_s: float
    finish_s: float
    execution_s: float
    cpu_s: float
    gpu_s: float
    energy_j: float
    cost_usd: float
    out_of_memory: bool = False
    failed: bool = False
    rounded: bool = False
    gang: tuple[int, ...] = ()

    @property
    def start_s(self) -> float:
        """Start of the earlier part."""
        if self.cpu_start_s <= self.gpu_start_s or math.isnan(self.gpu_start_s):
            return self.cpu_start_s
        return self.gpu_start_s

    @property
    def latency_s(self) -> float:
        """From arrival to finish, waiting for parents included."""
        return self.finish_s - self.arrival_s

    @property
    def wait_s(self) -> float:
        """What the queues added to the execution time."""
        return self.finish_s - self.ready_s - self.execution_s

    @property
    def device(self) -> str:
        """The device or devices in words."""
        return device_name(self.gpu, self.gpu_fraction, self.gang)


# Records from all their fields in order, without a call into Python: one of each is made for every task.
parts_of: Callable[[tuple[Any, ...]], Parts] = partial(tuple.__new__, Parts)
outcome_of: Callable[[tuple[Any, ...]], Outcome] = partial(tuple.__new__, Outcome)


def device_name(gpu: int, gpu_fraction: float, gang: Iterable[int] = ()) -> str:
    """Return where a task runs in words: `cpu`, `gpu_2`, `cpu+gpu_2`; a gang is `gpu_0+gpu_2` or `gpu_0-3,6`."""
    if gpu == NO_GPU:
        return "cpu"
    if gang:
        return _gang_name(sorted((gpu, *gang)))
    return f"gpu_{gpu}" if gpu_fraction >= 1.0 else f"cpu+gpu_{gpu}"


def _gang_name(gpus: list[int]) -> str:
    """Name the GPUs of a gang in few characters: one by one, else by ranges, else as the bits of one number."""
    if len(gpus) <= _MOST_NAMED:
        return "+".join(f"gpu_{gpu}" for gpu in gpus)
    ranges: list[list[int]] = []
    for gpu in gpus:
        if ranges and ranges[-1][-1] == gpu - 1:
            ranges[-1].append(gpu)
        else:
            ranges.append([gpu])
    name = "gpu_" + ",".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ranges)
    return name if len(name) <= _LONGEST_NAME else f"{_BITS}{sum(1 << gpu for gpu in gpus):x}"


def held_gpus(gpu: int, device: str) -> tuple[int, ...]:
    """Return the GPUs that a task held, the one that leads first, from that one and the name of its device."""
    return () if gpu == NO_GPU else (gpu, *(one for one in named_gpus(device) if one != gpu))


@lru_cache(maxsize=1024)
def named_gpus(device: str) -> tuple[int, ...]:
    """Return the GPUs in the name of a device, by rising id."""
    if device.startswith(_BITS):
        bits = int(device.removeprefix(_BITS), 16)
        return tuple(gpu for gpu in range(bits.bit_length()) if bits >> gpu & 1)
    ranges = re.findall(r"(?:gpu_|,)(\d+)(?:-(\d+))?", device)
    return tuple(gpu for first, last in ranges for gpu in range(int(first), int(last or first) + 1))
