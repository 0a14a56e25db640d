"""What a strategy may be called, wherever it comes from: names stand in tables, addresses and messages."""

from __future__ import annotations

import re

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.knowledge import LEVELS

__all__ = ["IDENTIFIER_PATTERN", "NAME_PATTERN", "is_name", "require_name", "spoken"]

_LONGEST = 64  # what a table of the history holds
NAME_PATTERN = rf"^[A-Za-z_][A-Za-z0-9_.\-]{{0,{_LONGEST - 1}}}$"
# What stands for a strategy in plans, tables and addresses: its name, and the level it was asked for at, if any.
IDENTIFIER_PATTERN = rf"{NAME_PATTERN.removesuffix('$')}(@({'|'.join(LEVELS)}))?$"
_NAME = re.compile(NAME_PATTERN.removesuffix("$") + r"\Z")
_ABBREVIATION = re.compile(r"\b(cpu|gpu|ml|rl)\b")


def spoken(name: str) -> str:
    """A name as people read it, for a strategy that brings no label: `short_to_cpu` is `Short to CPU`."""
    words = _ABBREVIATION.sub(lambda found: found[0].upper(), name.replace("_", " "))
    return words[:1].upper() + words[1:]


def is_name(name: object) -> bool:
    """Whether a strategy may be called that."""
    return isinstance(name, str) and _NAME.match(name) is not None


def require_name(where: str, name: object) -> str:
    """Return a name that a strategy may have; refuse any other with a sentence that says where it stands."""
    if isinstance(name, str) and is_name(name):
        return name
    if isinstance(name, str) and len(name) > _LONGEST:
        raise SchedulerError(
            f"{where}: the name {name[:20]}... has {len(name)} characters; at most {_LONGEST} can be stored."
        )
    raise SchedulerError(
        f"{where}: {name!a} cannot be a strategy's `name`; it is made of the letters A to Z and a to z, digits, "
        "_, - and ., and begins with a letter or _."
    )
