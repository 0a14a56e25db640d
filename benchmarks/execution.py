"""What a task costs through the executor, beside the executors that a Python programmer would pick."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor

__all__ = ["render", "run"]

WORKERS = 2
_OPTIONS = ExecutorOptions(store="", queue_limit=1_000_000)


def same(value: Any) -> Any:
    """Do nothing."""
    return value


def run(*, quick: bool) -> dict[str, Any]:
    """Microseconds of a task that does nothing, and seconds of 100 MB to a worker and back."""
    count, rounds = (200, 1) if quick else (5000, 5)
    array = np.ones(125_000 if quick else 12_500_000)
    found: dict[str, Any] = {"workers": WORKERS, "tasks": count}
    with ThreadPoolExecutor(WORKERS) as theirs, _hybrid("threads") as ours:
        found["threads_us"] = _compared(count, rounds, theirs, ours)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as theirs, _hybrid("processes") as ours:
        found["processes_us"] = _compared(count, rounds, theirs, ours)
        pair = [min(_there_and_back(pool, array) for _ in range(rounds + 1)) for pool in (theirs, ours)]
        found["array_s"] = {"stdlib": pair[0], "hybrid": pair[1], "megabytes": array.nbytes / 1e6}
    found["joblib_us"] = _joblib(count)
    found["ray_us"] = _ray(min(count, 1000), rounds)
    found["dask_us"] = _dask(min(count, 500))
    for key, name in (("threads_us", "overhead_threads_vs_stdlib"), ("processes_us", "overhead_processes_vs_stdlib")):
        found[name] = found[key]["hybrid"] / found[key]["stdlib"]
    ray_us = found["ray_us"]
    found["overhead_ray_vs_ray"] = None if ray_us is None else ray_us["hybrid"] / ray_us["ray"]
    found["array_vs_stdlib"] = found["array_s"]["hybrid"] / found["array_s"]["stdlib"]
    return found


def _hybrid(workers: str) -> HybridExecutor:
    return HybridExecutor(WORKERS, devices=[], workers=workers, options=_OPTIONS)


def _compared(count: int, rounds: int, theirs: Executor, ours: Executor) -> dict[str, float]:
    """The best of several rounds by turns, so that a busy moment strikes both."""
    best = {"stdlib": float("inf"), "hybrid": float("inf")}
    for _ in range(rounds + 1):
        for name, pool in (("stdlib", theirs), ("hybrid", ours)):
            best[name] = min(best[name], _burst(pool.submit, count))
    return best


def _burst(submit: Callable[..., Any], count: int) -> float:
    gc.collect()  # what one executor leaves behind must not be collected in the time of the next
    began = time.perf_counter()
    for future in [submit(same, number) for number in range(count)]:
        future.result()
    return (time.perf_counter() - began) / count * 1e6


def _there_and_back(pool: Executor, array: Any) -> float:
    began = time.perf_counter()
    assert pool.submit(same, array).result()[0] == 1.0
    return time.perf_counter() - began


def _joblib(count: int) -> float:
    import joblib

    with joblib.Parallel(n_jobs=WORKERS) as parallel:
        parallel(joblib.delayed(same)(number) for number in range(count))
        began = time.perf_counter()
        parallel(joblib.delayed(same)(number) for number in range(count))
        return (time.perf_counter() - began) / count * 1e6


def _ray(count: int, rounds: int) -> dict[str, float] | None:
    """Bare Ray tasks and the executor on the same cluster, by turns; None where Ray cannot start."""
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray

        # The executor's workers keep their CPUs: bare tasks have as many for themselves.
        ray.init(num_cpus=2 * WORKERS, include_dashboard=False, logging_level=40, configure_logging=False)
    except (ImportError, OSError, RuntimeError, ValueError):
        return None
    best = {"ray": float("inf"), "hybrid": float("inf")}
    try:
        remote = ray.remote(same)
        with HybridExecutor(WORKERS, devices=[], engine="ray", options=_OPTIONS) as ours:
            ours.wait_until_ready()
            for _ in range(rounds + 1):
                gc.collect()
                began = time.perf_counter()
                ray.get([remote.remote(number) for number in range(count)])
                best["ray"] = min(best["ray"], (time.perf_counter() - began) / count * 1e6)
                best["hybrid"] = min(best["hybrid"], _burst(ours.submit, count))
    finally:
        ray.shutdown()
    return best


def _dask(count: int) -> float | None:
    """dask.distributed on this machine; None where it is not installed."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        return None
    settings = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        client.gather(client.map(same, range(50), pure=False))
        began = time.perf_counter()
        client.gather(client.map(same, range(count), pure=False))
        return (time.perf_counter() - began) / count * 1e6


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"a task that does nothing, {result['workers']} workers, microseconds:"]
    for key, title in (("threads_us", "threads"), ("processes_us", "processes")):
        lines.append(
            f"  {title:10} standard library {result[key]['stdlib']:7.1f}   hybrid {result[key]['hybrid']:7.1f}"
        )
    ray_us = result["ray_us"]
    if ray_us is not None:
        lines.append(f"  {'Ray':10} bare {ray_us['ray']:7.1f}   hybrid {ray_us['hybrid']:7.1f}")
    for key, title in (("joblib_us", "joblib"), ("dask_us", "dask")):
        value = result[key]
        lines.append(f"  {title:10} " + ("not here" if value is None else f"{value:7.1f}"))
    array = result["array_s"]
    lines.append(
        f"{array['megabytes']:.0f} MB to a process and back: standard library {array['stdlib']:.3f} s, "
        f"hybrid {array['hybrid']:.3f} s"
    )
    return "\n".join(lines)
