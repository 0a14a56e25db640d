"""A Ray cluster that runs already: knocking at its door, joining it, and what it has to offer."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.execution.devices import CPU, Device, Devices, node_devices

__all__ = ["check_answer", "cluster_devices", "join", "needs"]

_JOINED = "A Ray cluster is in use already: leave `address` out, or end the connection with `ray.shutdown()`."


def check_answer(address: str) -> None:
    """Knock first: Ray ends the whole process where nobody answers."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not separator or not port.isdigit():
        raise ConfigurationError(f"--address {address} must have the form host:port.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"No Ray cluster answers at {address}: {error}.") from error


def join(address: str | None) -> tuple[Any, bool]:
    """Ray, connected to the cluster, and whether the connection was made here."""
    # The future default, which otherwise warns at every start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ConfigurationError("engine = 'ray' needs Ray: pip install 'hybrid-ml-scheduler[ray]'.") from None
    if ray.is_initialized():
        if address is not None:
            raise ConfigurationError(_JOINED)
        return ray, False
    if address is not None:
        check_answer(address)
    try:
        ray.init(address=address or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = address or "this machine"
        raise ConfigurationError(f"No Ray cluster answers at {where}: {' '.join(str(error).split())}") from error
    return ray, True


def needs(device: str, resources: dict[str, float]) -> dict[str, Any]:
    """What a worker of a device takes of the cluster: a CPU, a GPU, or one of a resource with the device's name."""
    if device == CPU:
        return {"num_cpus": 1}
    if device == "cuda":
        return {"num_cpus": 0, "num_gpus": 1}
    if resources.get(device, 0.0) >= 1.0:
        return {"num_cpus": 0, "resources": {device: 1}}
    return {"num_cpus": 1}


def cluster_devices(max_workers: int | None, devices: Devices, resources: dict[str, float]) -> tuple[Device, ...]:
    """The CPUs of a cluster are the workers of `cpu`, its GPUs are devices; what else is named takes a CPU each."""
    if devices is None:
        gpus = int(resources.get("GPU", 0.0))
        devices = [Device(name="cuda", workers=gpus)] if gpus else []
    further = node_devices(1, devices)[1:]
    taken = sum(one.workers * int(needs(one.name, resources)["num_cpus"]) for one in further)
    if max_workers is None:
        max_workers = max(int(resources.get("CPU", 1.0)) - taken, 1)
    return node_devices(max_workers, further)
