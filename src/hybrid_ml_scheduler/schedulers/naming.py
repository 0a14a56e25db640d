"""What a strategy may be called, wherever it comes from: names stand in tables, addresses and messages."""

from __future__ import annotations

import re

from hybrid_ml_scheduler.core.errors import SchedulerError

__all__ = ["NAME_PATTERN", "is_name", "require_name"]

_LONGEST = 64  # what a table of the history holds
NAME_PATTERN = rf"^[A-Za-z_][A-Za-z0-9_.\-]{{0,{_LONGEST - 1}}}$"
_NAME = re.compile(NAME_PATTERN.removesuffix("$") + r"\Z")


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
