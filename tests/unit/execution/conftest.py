"""Executors that several tests share, since worker processes take a moment to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybrid_ml_scheduler.execution import Device, ExecutorOptions, HybridExecutor

NO_STORE = ExecutorOptions(store="")


@pytest.fixture(scope="package", params=["threads", "processes"])
def either(request: pytest.FixtureRequest) -> Iterator[HybridExecutor]:
    """Two CPU workers, as threads and as processes."""
    with HybridExecutor(2, devices=[], workers=request.param, options=NO_STORE) as executor:
        yield executor


@pytest.fixture(scope="package")
def processes() -> Iterator[HybridExecutor]:
    """Two CPU worker processes."""
    with HybridExecutor(2, devices=[], options=NO_STORE) as executor:
        yield executor


@pytest.fixture(scope="package")
def hybrid() -> Iterator[HybridExecutor]:
    """One CPU worker and one worker of another device."""
    with HybridExecutor(1, devices=[Device(name="vector")], options=NO_STORE) as executor:
        yield executor
