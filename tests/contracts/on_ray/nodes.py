"""Started inside a network of its own: a Ray cluster of two nodes on loopback, one sweep on it, then the executor."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor, Kept, task

SIOCSIFFLAGS, UP_LOOPBACK_RUNNING = 0x8914, 0x49
STORE_BYTES = 80 * 2**20
OPTIONS = ExecutorOptions(store="", queue_limit=100_000)


class Scaled:
    """A callable with a value that its owner changes."""

    def __init__(self) -> None:
        self.factor = 1

    def __call__(self, value: int) -> int:
        return self.factor * value

    def times(self, value: int) -> int:
        return self.factor * value


class Point:
    """A class of the main program, which no node can import."""

    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right


@task(kind="double", size=len)
def double(values: Any) -> Any:
    """The slow way."""
    time.sleep(0.01)
    return values * 2


@double.on("vector")
def double_vector(values: Any) -> Any:
    return values * 2


@task(kind="made", keep=True)
def made(number: int) -> dict[str, int]:
    return {"pid": os.getpid(), "number": number}


def seen(kept: dict[str, int]) -> tuple[int, int]:
    return kept["pid"], os.getpid()


def node(seconds: float) -> str:
    """Where it runs."""
    import ray

    time.sleep(seconds)
    return str(ray.get_runtime_context().get_node_id())


def fails(word: str) -> None:
    raise KeyError(word)


def shifted(point: Point) -> Point:
    return Point(point.left + 1, point.right)


def dies() -> None:
    os._exit(3)


def interface(address: str) -> dict[str, Any]:
    """Everything that a local executor can do."""
    said: dict[str, Any] = {}
    with HybridExecutor(engine="ray", address=address, devices=["vector"], options=OPTIONS) as executor:
        executor.wait_until_ready()
        said["places"] = [*executor.place_names, executor.num_workers]
        said["map"] = list(executor.map(divmod, range(200), [7] * 200)) == [divmod(n, 7) for n in range(200)]
        said["nodes"] = len({future.result() for future in [executor.submit(node, 0.05) for _ in range(20)]})
        values = np.arange(300_000.0)
        back = executor.submit(double, values).result()
        back += 1.0
        said["array"] = bool((back == values * 2 + 1.0).all())
        failure = executor.submit(fails, "word").exception()
        said["exception"] = [type(failure).__name__, "fails" in str(getattr(failure, "__cause__", ""))]
        point = executor.submit(shifted, Point(1.0, 2.0)).result()
        said["main class"] = [type(point) is Point, point.left]
        scaled = Scaled()
        first = executor.submit(scaled, 10), executor.submit(scaled.times, 10)
        scaled.factor = 2
        second = executor.submit(scaled, 10), executor.submit(scaled.times, 10)
        said["changed"] = [future.result() for future in (*first, *second)]
        kept = executor.submit(made, 5).result()
        here, there = executor.submit(seen, kept).result()
        said["kept"] = [isinstance(kept, Kept), here == there != os.getpid(), kept.fetch()["number"]]
        said["died"] = type(executor.submit(dies).exception()).__name__
        said["timeout"] = type(executor.submit(task(node, timeout_s=0.3), 60.0).exception()).__name__
        said["after"] = executor.submit(max, 3, 4).result()
        said["hostile"] = type(executor.submit(max, (value for value in [1])).exception()).__name__
        for _ in range(200):
            future = executor.submit(double, values[:10])
            future.result()
            if executor.explain(future)["place"] == "vector_0":
                break
        said["learned"] = executor.explain(future)["place"]
    return said


def dead_node(address: str, cluster: Any, second: Any) -> dict[str, Any]:
    """One of two nodes, with the only device of its sort, dies in the middle."""
    options = ExecutorOptions(store="", retries=3)
    with HybridExecutor(engine="ray", address=address, devices=["vector"], options=options) as executor:
        executor.wait_until_ready()
        futures = [executor.submit(node, 0.02) for _ in range(150)]
        futures += [executor.submit(double, np.ones(3)) for _ in range(150)]
        futures[20].result()
        cluster.remove_node(second)
        once = executor.submit(task(node, retries=0), 0.01)
        ends = Counter(type(future.exception(timeout=120)).__name__ for future in [*futures, once])
        return {"ends": dict(ends), "unfinished": executor.statistics()["unfinished"]}


def sweep(address: str, plan: str, out: str) -> dict[str, Any]:
    """What `hms sweep` said on the cluster."""
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    words = [sys.executable, "-c", program, "sweep", plan, "--out", out, "--engine", "ray", "--address", address]
    done = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=False, timeout=800)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr[-4000:]}


def raise_loopback() -> None:
    """The only interface of the new network is down at first."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", UP_LOOPBACK_RUNNING))


def main(plan: str, out: str) -> None:
    """Print what was found as one line of JSON."""
    raise_loopback()
    from ray.cluster_utils import Cluster

    size = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    second = cluster.add_node(**size, resources={"vector": 1})
    try:
        said = {"sweep": sweep(cluster.address, plan, out), **interface(cluster.address)}
        said["dead node"] = dead_node(cluster.address, cluster, second)
        print(json.dumps(said))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
