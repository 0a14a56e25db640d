"""One colour, marker and dash for every strategy, the same in plots, reports and the dashboard.

The table is `palette.json` beside this file, so that the dashboard can import the very same one.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources
from typing import NamedTuple

from hybrid_ml_scheduler.schedulers.registry import available

__all__ = ["Style", "label_of", "palette", "style_of"]

_SPARE_COLOURS = ("#0ea5e9", "#84cc16", "#f97316", "#14b8a6", "#8b5cf6", "#eab308", "#64748b", "#ec4899")
_SPARE_MARKERS = "h8pH1234"


class Style(NamedTuple):
    """How one strategy is drawn; marker and dash tell it apart without colour."""

    colour: str
    marker: str
    dash: str


@cache
def palette() -> dict[str, Style]:
    """The styles of all built-in strategies, in the order in which they are shown."""
    text = resources.files(__package__).joinpath("palette.json").read_text(encoding="utf-8")
    return {name: Style(**style) for name, style in json.loads(text).items()}


def style_of(name: str) -> Style:
    """The style of any strategy; one that is not built in gets a spare one by its name, always the same."""
    known = palette()
    if name in known:
        return known[name]
    place = hashlib.blake2b(name.encode("utf-8"), digest_size=2).digest()
    return Style(
        _SPARE_COLOURS[place[0] % len(_SPARE_COLOURS)], _SPARE_MARKERS[place[1] % len(_SPARE_MARKERS)], "solid"
    )


def label_of(name: str) -> str:
    """A strategy's name as people read it."""
    entry = available().get(name)
    return entry.label if entry is not None else name.replace("_", " ").capitalize()
