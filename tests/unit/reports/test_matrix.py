"""The win/loss matrix: its title can be read whole, and no share leaves 0 to 100 %."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hybrid_ml_scheduler.plans.palette import palette
from hybrid_ml_scheduler.reports.plots.drawing import _LOOK, plots_for
from hybrid_ml_scheduler.reports.plots.matrix import win_matrix

NAMES = list(palette())


def drawn(names: list[str], mean: float, low: float, high: float) -> Figure:
    rows = [
        {"metric": "latency_s", "row": row, "column": column, "mean": mean, "low": low, "high": high}
        for row in names
        for column in names
        if row != column
    ]
    with mpl.rc_context(_LOOK):  # type: ignore[arg-type]  # the stubs list every key as a literal
        figure = win_matrix(lambda _: pd.DataFrame(rows))
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("count", [2, 3, 4, 6, 9])
def test_the_title_is_within_the_picture_however_few_strategies_raced(count: int) -> None:
    figure = drawn(sorted(NAMES, key=len)[-count:], 0.5, 0.4, 0.6)
    title = figure.axes[0]._left_title.get_window_extent()  # type: ignore[attr-defined]
    assert title.width > 0
    assert title.x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        ((0.94, 0.622, 1.0), "94\n62–100"),
        ((0.06, 0.0, 0.378), "6\n0–38"),
        ((0.34, 0.0, 0.975), "34\n0–98"),
        ((0.5, 0.404, 0.596), "50\n±9.6"),
        ((1.0, 1.0, 1.0), "100\n±0.0"),
        ((0.5, float("nan"), float("nan")), "50"),
    ],
)
def test_an_interval_that_was_cut_off_shows_its_ends(share: tuple[float, float, float], shown: str) -> None:
    figure = drawn(NAMES[:2], *share)
    assert {text.get_text() for text in figure.axes[0].texts} == {shown}


def test_there_is_no_matrix_of_one_strategy() -> None:
    columns = ["metric", "row", "column", "mean", "low", "high"]
    pair = pd.DataFrame([["latency_s", "greedy", "oracle", 0.5, 0.4, 0.6]], columns=columns)
    assert plots_for({"wins"}, lambda _: pair) == ["win_matrix"]
    assert plots_for({"wins"}, lambda _: pair[:0]) == []
