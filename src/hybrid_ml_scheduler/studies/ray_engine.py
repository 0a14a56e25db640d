"""Jobs on a Ray cluster: one that runs already, or one started here for the occasion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.execution.workers.ray_cluster import check_answer
from hybrid_ml_scheduler.studies.engines import Failure

__all__ = ["RayEngine"]

Job = TypeVar("Job")
Result = TypeVar("Result")


class RayEngine:
    """Spreads jobs over the nodes of a Ray cluster; the package must be installed on every node."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address
        self._workers = workers
        self.nodes: set[str] = set()

    def results(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result | Failure]]:
        """Do all jobs; one that raises or loses its worker becomes a failure."""
        ray = self._connected()
        try:
            yield from self._done(ray, function, jobs)
        finally:
            ray.shutdown()

    def _connected(self) -> Any:
        if self._address is not None:
            check_answer(self._address)
        else:
            # A cluster of our own stays on the loopback interface.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        # The future default, which otherwise warns at every start.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise ConfigurationError("--engine ray needs Ray: pip install 'hybrid-ml-scheduler[ray]'.") from None
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self._address is None:
            options.update(include_dashboard=False, num_cpus=self._workers)
        try:
            ray.init(address=self._address or "local", **options)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            where = self._address or "this machine"
            raise ConfigurationError(f"No Ray cluster answers at {where}: {' '.join(str(error).split())}") from error
        return ray

    def _done(
        self, ray: Any, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result | Failure]]:
        remote = ray.remote(num_cpus=1, max_retries=1, scheduling_strategy="SPREAD")(_with_node)
        running = {remote.remote(function, job): index for index, job in enumerate(jobs)}
        while running:
            ended, _ = ray.wait(list(running), num_returns=1)
            for reference in ended:
                index = running.pop(reference)
                try:
                    node, result = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    yield index, Failure.of(error.cause or error)
                except ray.exceptions.RayError as error:
                    yield index, Failure(reason=f"its worker was lost ({type(error).__name__}).")
                else:
                    self.nodes.add(node)
                    yield index, result


def _with_node(function: Callable[[Job], Result], job: Job) -> tuple[str, Result]:
    """Runs on a node of the cluster and says which one."""
    import ray

    return ray.get_runtime_context().get_node_id(), function(job)
