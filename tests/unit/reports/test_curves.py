"""The plot along a run: every strategy alone in its colour, the others behind it."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from hybrid_ml_scheduler.plans.palette import label_of, palette, style_of
from hybrid_ml_scheduler.reports.plots.curves import learning_curves
from hybrid_ml_scheduler.reports.words import early_and_late

NAMES = list(palette())


def curves(names: list[str]) -> pd.DataFrame:
    """Two seeds of twenty windows; each strategy comes down from its own height."""
    rows = [
        {"scheduler": name, "seed": seed, "tasks": 50 * window, "time_ratio": 2.0 + place + seed / 2 - window / 40}
        for place, name in enumerate(names)
        for seed in (0, 1)
        for window in range(1, 21)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("count", [1, 3, 5, 12])
def test_each_strategy_has_a_panel_of_its_own_with_the_others_in_grey(count: int) -> None:
    names, table = NAMES[:count], curves(NAMES[:count])
    figure = learning_curves(lambda _: table)
    assert [axes.get_title() for axes in figure.axes] == [label_of(name) for name in names]
    for axes, name in zip(figure.axes, names, strict=True):
        long = [line for line in axes.get_lines() if len(line.get_xdata()) == 20]  # type: ignore[arg-type]
        colours = [to_hex(str(line.get_color())) for line in long]
        assert colours.count(style_of(name).colour) == 1
        assert colours.count("#cbd5e1") == count - 1
        own = table[table["scheduler"] == name].groupby("tasks")["time_ratio"].mean()
        assert list(long[-1].get_ydata()) == list(own)  # type: ignore[arg-type]


def test_every_column_of_panels_ends_in_an_axis_of_tasks() -> None:
    table = curves(NAMES[:5])
    panels = learning_curves(lambda _: table).axes
    assert [axes.get_xlabel() for axes in panels] == ["", "", "tasks", "tasks", "tasks"]


def test_a_panel_tells_where_its_strategy_began_and_ended() -> None:
    table = curves(NAMES[:1])
    assert list(early_and_late(table)) == pytest.approx([2.25 - 1.5 / 40, 2.25 - 19.5 / 40])
    (text,) = learning_curves(lambda _: table).axes[0].texts
    assert text.get_text() == "2.213 → 1.762"


def test_a_long_name_leaves_room_for_the_numbers() -> None:
    table = curves(["somebodys_very_long_strategy"])
    assert learning_curves(lambda _: table).axes[0].get_title() == "Somebodys very lo…"
