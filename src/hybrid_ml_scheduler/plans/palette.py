"""One colour, marker and dash for every strategy, the same in plots, reports and the dashboard.

The tables are `palette.json` and `palette_spare.json` beside this file, so that the dashboard can import the very same.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from hybrid_ml_scheduler.schedulers.naming import spoken
from hybrid_ml_scheduler.schedulers.registry import available

__all__ = ["Style", "label_of", "palette", "spares", "style_of"]

_CROSSES = "x1234"
_given: dict[str, Style] = {}  # so that no two strategies of one process wear the same


class Style(NamedTuple):
    """How one strategy is drawn; marker and dash tell it apart without colour."""

    colour: str
    marker: str
    dash: str

    @property
    def is_cross(self) -> bool:
        """Whether the marker is made of strokes, with no inside to fill and no edge around it."""
        return self.marker in _CROSSES


def _table(file: str) -> Any:
    return json.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))


@cache
def palette() -> dict[str, Style]:
    """The styles of all built-in strategies, in the order in which they are shown."""
    return {name: Style(**style) for name, style in _table("palette.json").items()}


@cache
def spares() -> tuple[Style, ...]:
    """Styles for strategies from elsewhere; none looks like a built-in's."""
    return tuple(Style(**style) for style in _table("palette_spare.json"))


def style_of(name: str) -> Style:
    """The style of any strategy; one that is not built in gets a spare one by its name, unless another wears it."""
    return palette().get(name) or _given.setdefault(name, _spare(name))


def _spare(name: str) -> Style:
    """The first spare from the name's own place on that nobody wears; when all are worn, the one at that place."""
    place = 7
    for letter in name:  # as the dashboard counts, for strategies that no service knows any more
        place = (31 * place + ord(letter)) % 2**32
    place %= len(spares())
    worn = set(_given.values())
    return next((one for one in (*spares()[place:], *spares()[:place]) if one not in worn), spares()[place])


def label_of(name: str) -> str:
    """A strategy's name as people read it."""
    entry = available().get(name)
    return entry.label if entry is not None else spoken(name)
