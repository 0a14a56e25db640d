"""docs/fidelity.md shows the runs that lie in plans/hardware, of every machine, and its headline counts them all."""

from __future__ import annotations

import importlib.util
import json
import re
from types import ModuleType

import pytest

from tests.unit.workload.comparing import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGE = (DOCS / "fidelity.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fidelity_pictures", DOCS / "fidelity_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_those_of_the_stored_runs(pictures: ModuleType) -> None:
    rows = {name: pictures.read(name) for name in pictures.MACHINES}
    assert pictures.overall(rows) in PAGE
    for name in pictures.MACHINES:
        assert pictures.table(rows[name]) in PAGE
        assert f"images/fidelity-{name.replace('_', '-')}.png" in PAGE


def test_every_stored_validation_is_counted_and_the_headline_is_over_all(pictures: ModuleType) -> None:
    stored = {file.name.removesuffix("_validation.csv") for file in pictures.PROFILES.glob("*_validation.csv")}
    assert stored == set(pictures.MACHINES)
    (runs, median) = re.findall(r"\| all nodes \| (\d+) \| ([\d.]+ %) ", PAGE)[0]
    assert int(runs) == sum(len(pictures.read(name)) // 3 for name in stored)
    held_out = re.findall(r"held out \| 12 \| ([\d.]+ %) ", PAGE)[0]
    for file in (REPOSITORY / "README.md", DOCS / "execution.md"):
        text = " ".join(file.read_text(encoding="utf-8").split())
        assert f"half of the mean latencies of {runs} " in text
        assert f"at most {median}" in text
        assert f"at most {held_out}" in text


def test_the_third_nodes_runs_lie_there_to_be_judged_again(pictures: ModuleType) -> None:
    folder = pictures.PROFILES / "h200_third_node"
    cases = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
    measured = sorted(case[5]["mean_latency_s"] for case in cases)
    assert measured == sorted(
        row.measured for row in pictures.read("h200_third_node") if row.metric == "mean_latency_s"
    )
