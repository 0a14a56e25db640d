"""A machine that is kept busy everywhere: how much devices slow each other down, and how fast it is just now."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.executor import HybridExecutor
from hybrid_ml_scheduler.execution.runs.kinds import KINDS, Sizes
from hybrid_ml_scheduler.execution.runs.pinned import Pinned
from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = ["keep_busy"]

# Tasks that wait for each worker meanwhile: enough for the shortest kinds.
_QUEUED = 60


def keep_busy(
    executor: HybridExecutor,
    pinned: Pinned,
    sizes: Sizes,
    workers: Mapping[str, int],
    seconds: float,
    with_devices: bool = True,
) -> list[TaskRecord]:
    """Keep the CPU, or every worker of the node, busy with a random mixture of what it can do."""
    rng = stream(0, "execution", "calibration")
    first, until = executor.next_task_id, executor.now_s() + seconds
    waiting: dict[int, list[Future[Any]]] = defaultdict(list)
    names = executor.place_names
    chosen = range(len(names)) if with_devices else range(1)
    while executor.now_s() < until:
        for place in chosen:
            device = CPU if place == 0 else names[place].rsplit("_", 1)[0]
            able = [kind for kind in sizes if device in KINDS[kind].implementations]
            waiting[place] = [future for future in waiting[place] if not future.done()]
            pinned.place = place
            while able and len(waiting[place]) < _QUEUED * (workers[CPU] if place == 0 else 1):
                kind = able[int(rng.integers(len(able)))]
                size = sizes[kind][int(rng.integers(len(sizes[kind])))]
                waiting[place].append(executor.submit(KINDS[kind], size))
        time.sleep(0.005)
    left = [future for futures in waiting.values() for future in futures]
    for future in left:
        future.cancel()
    wait(left)
    # The tail, where some have run dry, is not together any more.
    return [
        one for one in executor.records() if one.task_id >= first and one.finished_s < until and one.state == "done"
    ]
