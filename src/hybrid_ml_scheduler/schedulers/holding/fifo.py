"""First come, first served, as a batch system does it: a task that cannot start yet blocks those behind it.

It is the order of SLURM's scheduler without backfill (`sched/builtin`); A. W. Mu'alem and D. G. Feitelson (2001),
"Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling",
describe it as the baseline of backfilling. The CPU and the GPUs are two partitions with a queue each. A task asks for
the CPU or for its number of GPUs when it becomes ready, and keeps that request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hybrid_ml_scheduler.core import CPU_ONLY, ClusterView, Decision, Estimator, RaceContext, Task
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView

__all__ = ["Fifo", "Request"]


class Request(NamedTuple):
    """What a task asks for: GPUs at once (0: the CPU), and for how long, led by each GPU (infinite: it cannot lead).

    `width` 0 has one number of seconds, those on the CPU. `gpu_kind` is the kind of each GPU.
    """

    task_id: int
    width: int
    seconds: tuple[float, ...]
    gpu_kind: tuple[int, ...]

    def pool(self, lead: int) -> list[int]:
        """The GPUs that a gang led by this one may hold: those of its kind, or all where the kind has too few."""
        own = [gpu for gpu, kind in enumerate(self.gpu_kind) if kind == self.gpu_kind[lead]]
        return own if len(own) >= self.width else list(range(len(self.gpu_kind)))


class Fifo:
    """Starts tasks in the order in which they became ready; the first that cannot start stops all behind it.

    A task asks for the CPU if no GPU holds it, or if it needs at most one GPU and the CPU is estimated to be faster.
    """

    name = "fifo"
    reason = "tasks start in the order in which they became ready, each on the device that it asked for"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh with empty queues."""
        self._cpu: list[Request] = []
        self._gpus: list[Request] = []
        self._ends_s = [0.0] * context.num_gpus  # when the task on each GPU ends, by what it asked for

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """Start what can start, the CPU's tasks first."""
        for task in held.fresh:
            request = self._request(task, cluster.estimator)
            (self._gpus if request.width else self._cpu).append(request)
        if len(self._cpu) + len(self._gpus) != len(held):  # what could wait no longer was committed for us
            self._cpu = [one for one in self._cpu if one.task_id in held]
            self._gpus = [one for one in self._gpus if one.task_id in held]
        while self._cpu and cluster.idle[0]:
            yield Commitment(self._cpu.pop(0).task_id, CPU_ONLY)
        yield from self._on_gpus(cluster)

    def _on_gpus(self, cluster: HeldView) -> Iterator[Commitment]:
        while self._gpus:
            leads = self._leads(self._gpus[0], cluster)
            if not leads:
                return
            yield self._started(self._gpus.pop(0), leads[0], cluster)

    def _leads(self, request: Request, cluster: HeldView) -> list[int]:
        """The GPUs that can lead the task at once, the fastest first."""
        able = [
            (seconds, gpu)
            for gpu, seconds in enumerate(request.seconds)
            if seconds < math.inf and all(cluster.idle[one + 1] for one in self._members(request, gpu, cluster))
        ]
        return [gpu for _, gpu in sorted(able)]

    def _members(self, request: Request, lead: int, cluster: HeldView) -> list[int]:
        """The GPUs that the task gets if this one leads: those that are estimated to be free first."""
        backlogs = cluster.gpu_backlogs_s if request.width > 1 else ()
        others = sorted((backlogs[gpu], gpu) for gpu in request.pool(lead) if gpu != lead) if request.width > 1 else []
        return [lead, *(gpu for _, gpu in others[: request.width - 1])]

    def _started(self, request: Request, lead: int, cluster: HeldView) -> Commitment:
        for gpu in self._members(request, lead, cluster):
            self._ends_s[gpu] = cluster.now_s + request.seconds[lead]
        return Commitment(request.task_id, Decision(gpu_fraction=1.0, gpu=lead))

    def _request(self, task: Task, estimator: Estimator) -> Request:
        cpu_s, kinds = estimator.cpu_s(task), tuple(map(int, estimator.terms(task).gpu_kind))
        gpu_s: list[float] = []
        for gpu in range(estimator.num_gpus if task.gpus_required else 0):
            parts = estimator.parts(task, 1.0, gpu)
            holds = parts.gpu_fraction == 1.0 and not parts.failed
            gpu_s.append(parts.gpu_s if holds else math.inf)
        least = min(gpu_s, default=math.inf)
        if least == math.inf or (task.gpus_required == 1 and cpu_s < least):
            return Request(task.task_id, 0, (cpu_s,), kinds)
        return Request(task.task_id, task.gpus_required, tuple(gpu_s), kinds)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Where a task would go if it had to be committed now: the device it asked for that ends first."""
        request = self._request(task, cluster.estimator)
        if not request.width:
            return CPU_ONLY
        ends = [backlog + s for backlog, s in zip(cluster.gpu_backlogs_s, request.seconds, strict=True)]
        return Decision(gpu_fraction=1.0, gpu=ends.index(min(ends)))

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """What the task asks for, and how many tasks of its queue became ready before it."""
        request, chosen = self._request(task, cluster.estimator), self.decide(task, cluster)
        queue = self._gpus if request.width else self._cpu
        places = [one.task_id for one in queue]
        return {
            "reason": self.reason,
            "gpu_fraction": chosen.gpu_fraction,
            "gpu": chosen.gpu,
            "requested_gpus": request.width,
            "requested_s": min(request.seconds),
            "held": len(self._cpu) + len(self._gpus),
            "held_before_it": places.index(task.task_id) if task.task_id in places else len(places),
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, chosen.gpu or 0),
        }

    def capture(self) -> Mapping[str, Any]:
        """The queues, and when the tasks on the GPUs end by what they asked for."""
        return {
            "cpu": [tuple(one) for one in self._cpu],
            "gpus": [tuple(one) for one in self._gpus],
            "ends_s": list(self._ends_s),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._cpu = [Request(*one) for one in state["cpu"]]
        self._gpus = [Request(*one) for one in state["gpus"]]
        self._ends_s = list(state["ends_s"])
