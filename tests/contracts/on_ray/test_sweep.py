"""A sweep gives the same bytes on local processes and on a real Ray cluster of two nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.ray_engine import RayEngine
from hybrid_ml_scheduler.studies.sweep import load_sweep, run_sweep


def test_two_ray_nodes_and_local_processes_give_the_same_bytes_and_the_same_failures(
    sweep_plan: Path, said: dict[str, Any], tmp_path: Path
) -> None:
    assert said["sweep"]["code"] == 1, said["sweep"]["err"]
    told = json.loads(said["sweep"]["out"])
    assert told["nodes"] == 2, "both nodes must have done cells"

    sweep = load_sweep(sweep_plan)
    folder = ResultsFolder.create(tmp_path / "local", kind="sweep", plan=sweep.source)
    failures = run_sweep(sweep, folder, LocalEngine(2))
    assert 0 < len(failures) < len(sweep.cells)
    assert all("tired" in reason for reason in failures.values())
    assert told["failures"] == failures
    for name in ("tables/sweep.parquet", "tables/sweep.csv", "tables/intervals.parquet", "failures.json"):
        assert (sweep_plan.with_name("ray") / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999"])
def test_an_address_where_nobody_answers_is_one_sentence(address: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(address)):
        list(RayEngine(address).results(len, ["a"]))
