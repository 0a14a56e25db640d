"""A hint for a slip of the pen: the nearest name that exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest", "nearest_hint"]


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that this one was probably meant to be, if any comes near.

    A key of a YAML file need not be text, so anything may be asked about.
    """
    names = list(known)
    lowered = {candidate.lower(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(str(name).lower(), lowered, n=1)
    return lowered[close[0]] if close else None


def nearest_hint(name: object, known: Iterable[str]) -> str:
    """Return the end of a refusal: `; did you mean 'x'?`, else everything that is known."""
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; known: {', '.join(names)}." if names else "; it has none."
