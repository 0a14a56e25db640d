"""A node refuses what no machine can be, and names the device and the property."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Cpu, Gpu, Node


def test_the_default_node_is_one_cpu_and_four_equal_gpus() -> None:
    node = Node()
    assert node.num_gpus == 4
    assert len(set(node.gpus)) == 1
    assert node.device_names == ("cpu", "gpu_0", "gpu_1", "gpu_2", "gpu_3")
    assert (node.cpu.power_w, node.gpus[0].power_w) == (30.0, 50.0)
    assert (node.cpu.price_usd_s, node.gpus[0].price_usd_s) == (0.00002, 0.0001)
    assert (node.gpus[0].memory_mb, node.gpus[0].bandwidth_mb_s, node.gpus[0].launch_s) == (8000.0, 16_000.0, 0.0)
    assert node.paging_slowdown == 10.0
    assert node.electricity_usd_kwh == 0.15


@pytest.mark.parametrize("name", [item.name for item in fields(Gpu) if item.name != "type"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_gpu_with_an_impossible_property_is_named(name: str, value: float) -> None:
    change: dict[str, Any] = {name: value}
    broken = replace(Gpu(), **change)
    with pytest.raises(PlanError, match=rf"^physics\.gpu_1\.{name} = {value:g} must be .*\.$"):
        Node(gpus=(Gpu(), broken))


def changes(name: str) -> dict[str, Any]:
    return {name: 0.0}


@pytest.mark.parametrize("name", [item.name for item in fields(Cpu)])
def test_a_cpu_with_an_impossible_property_is_named(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(PlanError, match=rf"^physics\.cpu\.{name} = -1 must be .*\.$"):
        Node(cpu=replace(Cpu(), **wrong))


@pytest.mark.parametrize("name", ["speed", "memory_mb", "bandwidth_mb_s"])
def test_what_divides_or_holds_must_be_above_zero(name: str) -> None:
    with pytest.raises(PlanError, match="above 0"):
        Node(gpus=(replace(Gpu(), **changes(name)),))


@pytest.mark.parametrize("name", ["power_w", "idle_power_w", "price_usd_s", "launch_s"])
def test_what_is_only_counted_may_be_zero(name: str) -> None:
    Node(gpus=(replace(Gpu(), **changes(name)),))


@pytest.mark.parametrize(
    ("name", "value"), [("max_speedup", 0.5), ("paging_slowdown", 0.9), ("electricity_usd_kwh", -0.1)]
)
def test_figures_of_the_node_are_checked_too(name: str, value: float) -> None:
    figures: dict[str, Any] = {name: value}
    with pytest.raises(PlanError, match=rf"^physics\.{name} = {value:g} "):
        replace(Node(), **figures)


def test_a_node_without_a_gpu_is_refused() -> None:
    with pytest.raises(PlanError, match="at least one GPU"):
        Node(gpus=())
    with pytest.raises(PlanError, match=r"num_gpus = 0 "):
        Node.uniform(0)
