"""Calling code that its author may have written in any way: whatever it raises is an answer, not an accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Tried", "tried"]


class Tried(NamedTuple):
    """What a call returned, or what it raised."""

    value: Any
    error: BaseException | None


def tried(call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Tried:
    """Call, and give back the value or the exception; an interrupt of the program itself is an exception too."""
    try:
        return Tried(call(*args, **kwargs), None)
    except BaseException as error:  # noqa: BLE001 - the whole point of this function
        return Tried(None, error)
