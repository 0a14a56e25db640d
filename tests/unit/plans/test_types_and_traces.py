"""Changing the type of GPU changes a trace's times, or it is said why not and for how many tasks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping
from hybrid_ml_scheduler.plans.time_notes import time_notes
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA, gavel_streams, real_files

TYPES = ("t4", "v100", "a100", "h200")
OWN = ["own.csv", "jobs.swf", "workflow.json", "philly.csv", "azure_llm.csv", "openb_pods.csv", "openb_requests.csv"]
FILES = [*(DATA / name for name in OWN), DATA / "gavel.trace", *real_files(), *gavel_streams()]


def node_of(name: str) -> Node:
    return node_from_mapping({"gpus": [{"type": name}] * 8}, None, None, "test")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_type_changes_the_times_or_the_output_says_why_not(path: Path) -> None:
    table = (
        {"throughputs": str(DATA / "gavel_throughputs.json")} if path.parent == DATA and "gavel" in path.name else {}
    )
    batch = load(path, options=table, node=node_of("t4"))
    seconds = {name: durations(batch, node_of(name)).gpu_s[:, 0] for name in TYPES}
    for name in TYPES[1:]:
        same = int(np.count_nonzero(seconds[name] == seconds["t4"]))
        (told,) = time_notes(batch, node_of(name))
        assert told.startswith(f"GPU seconds on {name} ({len(batch):,} tasks): ")
        unchanged = re.search(r"([\d,]+) given for a GPU whose type is not named, which this type does not", told)
        assert same == (int(unchanged.group(1).replace(",", "")) if unchanged else 0)


def test_a_type_that_is_named_makes_unnamed_times_change() -> None:
    batch = load(DATA / "philly.csv", options={"gpu_type": "p100"})
    slow, fast = (durations(batch, node_of(name)).gpu_s[:, 0] for name in ("k80", "h200"))
    assert (fast < slow).all()
