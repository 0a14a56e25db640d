"""The shift experiment in small: the shape of its result and who adapts."""

from __future__ import annotations

import json
from pathlib import Path

from hybrid_ml_scheduler.experiments.shift import STRATEGIES, ShiftBudget, run_shift, shift_result
from hybrid_ml_scheduler.experiments.shift_files import shift_table, write_shift
from hybrid_ml_scheduler.physics import Node


def test_the_frozen_forest_fails_and_the_agent_adapts(tmp_path: Path) -> None:
    runs = run_shift(Node(), (5, 6), ShiftBudget(agent_tasks=400, test_tasks=400))
    result = shift_result(runs)
    assert set(result["strategies"]) == set(STRATEGIES)
    assert result["frozen_forest_vs_agent"] > 1.5
    assert result["frozen_forest_vs_agent_last_300"] > 2.0
    assert result["agent_adapted_after"] <= 200
    assert "rl_agent" in shift_table(result)
    write_shift(runs, result, tmp_path)
    assert json.loads((tmp_path / "shift.json").read_text())["seeds"] == [5, 6]
    assert (tmp_path / "shift.png").stat().st_size > 5_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shift.json", "shift.png"]
