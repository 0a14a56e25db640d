"""Every strategy has its own look, also for eyes that see fewer colours."""

from __future__ import annotations

import io
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from hybrid_ml_scheduler.plans import palette as palettes
from hybrid_ml_scheduler.plans.palette import label_of, palette, spares, style_of
from hybrid_ml_scheduler.reports.plots.axes import strategy_handles
from hybrid_ml_scheduler.reports.plots.front import pareto_front
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE, available

# What a person sees (Machado, Oliveira and Fernandes 2009, severity 1), on linear RGB.
SIGHT = {
    "full": np.eye(3),
    "no red": np.array([[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.052]]),
    "no green": np.array([[0.3673, 0.8606, -0.228], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]),
    "no blue": np.array([[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as that eye sees it."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.clip(sight @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    ratio = TO_XYZ @ linear / WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_built_in_strategy_has_a_style_of_its_own() -> None:
    assert set(available()) <= set(palette())
    assert len({style.colour for style in palette().values()}) == len(palette())
    assert len({style.marker for style in palette().values()}) == len(palette())


def test_the_learners_wear_cyan_and_purple() -> None:
    assert style_of("hybrid_ml").colour == "#22d3ee"
    assert style_of("rl_agent").colour == "#a855f7"


@pytest.mark.parametrize("sight", SIGHT)
def test_the_default_race_can_be_told_apart_by_every_eye(sight: str) -> None:
    close = {
        (a, b): round(
            float(np.linalg.norm(lab(style_of(a).colour, SIGHT[sight]) - lab(style_of(b).colour, SIGHT[sight])))
        )
        for a, b in combinations(DEFAULT_RACE, 2)
    }
    assert min(close.values()) >= 15, close


def test_a_strategy_from_elsewhere_keeps_its_spare_style() -> None:
    assert style_of("of_a_plugin") == style_of("of_a_plugin")
    assert style_of("of_a_plugin") in spares()


def test_no_spare_style_looks_like_that_of_another_strategy() -> None:
    full = SIGHT["full"]
    built_in = [style.colour for style in palette().values()]
    spare = [style.colour for style in spares()]
    pairs = [*combinations(spare, 2), *product(spare, built_in)]
    close = {(a, b): float(np.linalg.norm(lab(a, full) - lab(b, full))) for a, b in pairs}
    assert min(close.values()) >= 28, min(close, key=lambda pair: close[pair])
    markers = [style.marker for style in (*spares(), *palette().values())]
    assert len(set(markers)) == len(markers)


def test_strategies_from_elsewhere_get_different_styles_while_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palettes, "_given", {})
    names = [f"rule_{number}" for number in range(len(spares()))]
    assert len({style_of(name) for name in ["boom", "coin"]}) == 2
    monkeypatch.setattr(palettes, "_given", {})
    assert {style_of(name) for name in names} == set(spares())
    assert style_of("one_too_many") in spares()


@pytest.mark.parametrize(("name", "label"), [("short_to_cpu", "Short to CPU"), ("rl_cpuish", "RL cpuish"), ("x", "X")])
def test_a_strategy_without_a_label_is_called_by_its_name(name: str, label: str) -> None:
    assert label_of(name) == label


def test_every_look_can_be_drawn_as_a_point_and_as_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    styles = (*palette().values(), *spares())  # any complaint of the drawing library is an error in tests
    names = [f"strategy_{place}" for place in range(len(styles))]
    monkeypatch.setattr(palettes, "_given", dict(zip(names, styles, strict=True)))
    points = {"seed": 0, "tasks": 9, "failed_count": 0, "mean_time_s": 1.0, "energy_j": 1.0}
    for some in (names[::2], names[1::2]):  # half of them at a time, so that the legend leaves room for the points
        tables = {
            "metrics": pd.DataFrame([{"scheduler": name, **points} for name in some]),
            "front": pd.DataFrame({"time_s": [1.0, 2.0], "energy_j": [2.0, 1.0]}),
        }
        figure = pareto_front(tables.__getitem__)
        figure.legend(handles=strategy_handles(some))
        figure.savefig(io.BytesIO())
