"""What an executor asks of its engine, and the engines by name."""

from __future__ import annotations

from typing import Protocol

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.execution.devices import Device, Devices, Place, check_gpus, node_devices
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Told
from hybrid_ml_scheduler.execution.workers.ray_cluster import cluster_devices, join

__all__ = ["Engine", "RayCluster", "ThisMachine", "joined_cluster"]


class Engine(Protocol):
    """Workers with their queues."""

    def start(self) -> None:
        """Begin to serve."""

    def wait_until_ready(self) -> None:
        """Wait until every worker can take tasks."""

    def new_future(self) -> HybridFuture:
        """A future for a task of this engine."""

    def is_own_thread(self) -> bool:
        """Whether the calling thread is one of the engine's: it must never wait for room."""

    def connect(self, told: Told) -> None:
        """Who is told what, before the start."""

    def prepare(self, work: Work) -> None:
        """Make the arguments ready to travel."""

    def enqueue(self, work: Work) -> None:
        """Put a task into the queue of its place."""

    def cancel_waiting(self) -> None:
        """Cancel every task that has not been handed to a worker."""

    def wake(self) -> None:
        """Something changed that the engine cannot see."""

    def stop(self, kill: bool = False) -> None:
        """End when all tasks have ended; with `kill`, at once."""

    def join(self) -> None:
        """Wait until everything is over."""

    def close(self) -> None:
        """Free what an engine holds that never started."""


class ThisMachine:
    """The machine of the program itself: worker processes or threads."""

    def devices(self, max_workers: int | None, devices: Devices) -> tuple[Device, ...]:
        """The CPU and what was asked for beside it."""
        found = node_devices(max_workers, devices)
        check_gpus(found)
        return found

    def engine(self, workers: str, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> Engine:
        """The engine for a sort of workers."""
        return _local_engine(workers, places, ledger, options)


class RayCluster:
    """A Ray cluster that runs already; its workers are always processes."""

    def __init__(self, address: str | None) -> None:
        self._ray, self._leaves = join(address)

    def devices(self, max_workers: int | None, devices: Devices) -> tuple[Device, ...]:
        """All CPUs and GPUs of the cluster, or what was asked for."""
        return cluster_devices(max_workers, devices, self._ray.cluster_resources())

    def engine(self, workers: str, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> Engine:
        """The engine of actors."""
        from hybrid_ml_scheduler.execution.workers.ray_engine import RayEngine

        return RayEngine(places, ledger, options, self._ray, self._leaves)


def joined_cluster(engine: str, address: str | None, workers: str) -> ThisMachine | RayCluster:
    """Where the workers will be."""
    if engine == "ray":
        if workers != "processes":
            raise PlanError(f"workers = {workers!r} must be 'processes' on a Ray cluster.")
        return RayCluster(address)
    if engine != "local":
        raise PlanError(f"engine = {engine!r} must be 'local' or 'ray'.")
    if address is not None:
        raise PlanError(f"address = {address!r} needs engine = 'ray'.")
    return ThisMachine()


def _local_engine(name: str, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> Engine:
    """The engine with this name."""
    if name == "processes":
        from hybrid_ml_scheduler.execution.workers.processes import ProcessEngine

        return ProcessEngine(places, ledger, options)
    if name == "threads":
        from hybrid_ml_scheduler.execution.workers.threads import ThreadEngine

        return ThreadEngine(places, ledger, options)
    raise PlanError(f"workers = {name!r} must be 'processes' or 'threads'.")
