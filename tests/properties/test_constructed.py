"""The learned strategies in a small form of the constructed workloads, on seeds that no choice was made on."""

from __future__ import annotations

import pytest

from benchmarks.constructed import OURS, SHAPES, ratios
from hybrid_ml_scheduler.core.knowledge import Level


@pytest.mark.parametrize("level", ["exact", "learned"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_work_makes_a_learned_strategy_fail(shape: str, level: Level) -> None:
    # One look at a device that is a thousand times slower than its formula costs 300 tasks more than all the rest.
    found = ratios(shape, level, (200, 201), 300 if level == "exact" else 1000)
    for name in OURS:
        value, tail = found[name]
        assert value <= 1.35, f"{name} takes {value:.2f} times as long as {found['rule']}"
        assert tail <= 2.0, f"{name} has {tail:.2f} times the 95th percentile of {found['rule']}"
