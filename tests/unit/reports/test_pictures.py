"""Pictures of a run show what their words say: the first begun tasks, the strategies left out, single intervals."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.plots.gantt import gantt
from hybrid_ml_scheduler.reports.plots.knowledge import knowledge_levels, knowledge_prices


def ran(name: str, count: int, *, backwards: bool = False) -> pd.DataFrame:
    """Tasks of a second each on the CPU, in order or last first."""
    begins = [float(count - 1 - row if backwards else row) for row in range(count)]
    columns: dict[str, object] = {"scheduler": name, "gpu": -1, "cpu_s": 1.0, "gpu_s": 0.0, "gpu_start_s": math.nan}
    return pd.DataFrame({"task_id": range(count), "cpu_start_s": begins, **columns})


def test_the_gantt_draws_the_tasks_that_began_first() -> None:
    tasks = ran("rl_hold", 200, backwards=True)
    (axes,) = gantt(lambda _: tasks).axes
    spans = [path.get_extents() for bars in axes.collections for path in bars.get_paths()]
    assert max(span.x1 for span in spans) == pytest.approx(60.0)


def test_the_gantt_draws_what_holds_and_says_what_is_left_out() -> None:
    names = ["round_robin", "greedy", "hybrid_ml", "rl_agent", "oracle", "earliest_finish", "rl_hold", "random"]
    tasks = pd.concat([ran(name, 5) for name in names], ignore_index=True)
    panels = gantt(lambda _: tasks).axes
    assert label_of("rl_hold") in [axes.get_title() for axes in panels]
    assert len(panels) == 6
    assert panels[-1].get_xlabel() == "time (s); 6 of 8 strategies are drawn"
    few = pd.concat([ran(name, 5) for name in names[:3]], ignore_index=True)
    assert gantt(lambda _: few).axes[-1].get_xlabel() == "time (s)"


@pytest.mark.parametrize("draw", [knowledge_levels, knowledge_prices])
@pytest.mark.parametrize("loads", [(0.7,), (0.5, 0.9)])
def test_the_interval_of_a_single_load_is_drawn_as_a_bar(draw: object, loads: tuple[float, ...]) -> None:
    rows = [
        {"level": level, "scheduler": "greedy", "load": load, "mean": 2.0, "low": 1.5, "high": 2.5}
        for level in ("exact", "nominal", "learned")
        for load in loads
    ]
    figure = draw(lambda _: pd.DataFrame(rows))  # type: ignore[operator]
    for axes in figure.axes:
        bars, bands = len(axes.containers), len(axes.collections)
        assert (bars, bands) == ((1, 1) if len(loads) == 1 else (0, 1))
