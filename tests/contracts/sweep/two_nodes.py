"""Started inside a network of its own: a Ray cluster of two nodes on loopback, and one sweep on it."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
from typing import Any

SIOCSIFFLAGS, UP_LOOPBACK_RUNNING = 0x8914, 0x49
STORE_BYTES = 80 * 2**20


def raise_loopback() -> None:
    """The only interface of the new network is down at first."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", UP_LOOPBACK_RUNNING))


def main(arguments: list[str]) -> None:
    """Run `hms sweep` with these arguments against two real nodes and print what both said."""
    raise_loopback()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    try:
        program = "from hybrid_ml_scheduler.cli.main import main; main()"
        words = [sys.executable, "-c", program, "sweep", *arguments, "--engine", "ray", "--address", cluster.address]
        done = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=False, timeout=800)
        print(json.dumps({"code": done.returncode, "out": done.stdout, "err": done.stderr[-4000:]}))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
