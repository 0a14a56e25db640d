"""The executor on a real Ray cluster of two nodes: the same interface, and a dead node loses no future."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError, PlanError
from hybrid_ml_scheduler.execution import HybridExecutor


def test_cpus_of_all_nodes_are_workers_and_other_resources_are_devices(said: dict[str, Any]) -> None:
    assert said["places"] == ["cpu", "vector_0", 3]
    assert said["nodes"] == 2


def test_the_interface_is_the_same_on_a_cluster(said: dict[str, Any]) -> None:
    assert said["map"]
    assert said["array"]
    assert said["exception"] == ["KeyError", True]
    assert said["main class"] == [True, 2.0]
    assert said["changed"] == [10, 10, 20, 20]
    assert said["kept"] == [True, True, 5]
    assert (said["died"], said["timeout"], said["after"]) == ("WorkerDied", "TaskTimeout", 4)
    assert said["hostile"] == "NotTransferable"


def test_what_was_measured_decides_on_a_cluster_too(said: dict[str, Any]) -> None:
    assert said["learned"] == "vector_0"


def test_a_dead_node_loses_no_future(said: dict[str, Any]) -> None:
    ends = said["dead node"]["ends"]
    assert sum(ends.values()) == 301
    assert ends["NoneType"] >= 300
    assert said["dead node"]["unfinished"] == 0


def test_a_cluster_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(ConfigurationError, match=re.escape("127.0.0.1:1")):
        HybridExecutor(engine="ray", address="127.0.0.1:1")
    with pytest.raises(PlanError, match="must be 'processes'"):
        HybridExecutor(engine="ray", workers="threads")
    with pytest.raises(PlanError, match="'local' or 'ray'"):
        HybridExecutor(engine="slurm")
    with pytest.raises(PlanError, match="needs engine"):
        HybridExecutor(address="127.0.0.1:1")
