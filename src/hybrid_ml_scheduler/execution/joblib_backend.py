"""The executor as a joblib backend: `register()`, then `parallel_config(backend="hybrid", executor=executor)`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from hybrid_ml_scheduler.execution.executor import HybridExecutor

__all__ = ["register"]


def register(name: str = "hybrid") -> None:
    """Make the backend known to joblib under a name."""
    from joblib import parallel

    parallel.register_parallel_backend(name, _backend)


def _backend(executor: HybridExecutor | None = None, **options: Any) -> Any:
    """A backend over an executor, or over one of its own that ends with the call."""
    from joblib._parallel_backends import ParallelBackendBase

    class HybridBackend(ParallelBackendBase):  # type: ignore[misc]
        """Hands joblib's calls to the executor, each on its own, so that each is placed."""

        supports_retrieve_callback = True
        default_n_jobs = -1

        def __init__(self) -> None:
            super().__init__(nesting_level=options.get("nesting_level"))
            self._executor = executor
            self._waiting: set[Future[Any]] = set()

        def effective_n_jobs(self, n_jobs: int | None) -> int:
            """As many as the executor has workers, or as few as were asked for."""
            workers = self._shared().num_workers
            return workers if n_jobs is None or n_jobs < 1 else min(n_jobs, workers)

        def _shared(self) -> HybridExecutor:
            if self._executor is None:
                self._executor = HybridExecutor()
            return self._executor

        def submit(self, func: Any, callback: Callable[[Any], Any] | None = None) -> Future[Any]:
            """Submit one batch, which is one call."""
            call, args, kwargs = func.items[0] if len(getattr(func, "items", ())) == 1 else (_all_of, (func,), {})
            future = self._shared().submit(call, *args, **kwargs)
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)
            future.single = call is not _all_of  # type: ignore[attr-defined]
            if callback is not None:
                future.add_done_callback(callback)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            """The results of a batch, in joblib's form."""
            return [out.result()] if out.single else out.result()

        def abort_everything(self, ensure_ready: bool = True) -> None:
            """Cancel what has not begun."""
            for future in list(self._waiting):
                future.cancel()

        def terminate(self) -> None:
            """End an executor that this call has made for itself."""
            if executor is None and self._executor is not None:
                self._executor.shutdown()
                self._executor = None

    return HybridBackend()


def _all_of(batch: Callable[[], Any]) -> Any:
    return batch()
