"""What an executor asks of its engine, and the engines by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Fetch

__all__ = ["Engine", "made_engine"]


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

    def connect(self, fetch: Fetch, decide: Callable[[], None]) -> None:
        """How a kept result is brought home, and who decides about more tasks when some have ended."""

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


def made_engine(name: str, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> Any:
    """The engine with this name."""
    if name == "processes":
        from hybrid_ml_scheduler.execution.workers.processes import ProcessEngine

        return ProcessEngine(places, ledger, options)
    if name == "threads":
        from hybrid_ml_scheduler.execution.workers.threads import ThreadEngine

        return ThreadEngine(places, ledger, options)
    raise PlanError(f"workers = {name!r} must be 'processes' or 'threads'.")
