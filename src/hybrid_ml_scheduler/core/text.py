"""Words as people write them, and text from elsewhere (a strategy's code, a file's name) fit for every outlet.

Also the nearest name to one that does not exist, and the bytes of a file that may never end.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["amount", "bounded_bytes", "nearest", "nearest_hint", "plain_demand", "plain_text"]

# What validators say of a value, each as a demand that follows the value's name.
_PLAINER = (
    (re.compile(r"Input should be a valid integer.*"), "must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "must be a number"),
    (re.compile(r"Input should be a valid boolean.*"), "must be true or false"),
    (re.compile(r"Input should be a finite number.*"), "must be a finite number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"must be at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"must be at most \1"),
    (re.compile(r"Input should be greater than (\S+)"), r"must be above \1"),
    (re.compile(r"(?:Value error, )?'.*' is not one of (.*)"), r"must be one of \1"),
    (re.compile(r"Input should be ('.*')"), r"must be \1"),
    (re.compile(r"Input should be a valid (?:dictionary|mapping).*"), "must be an object"),
    (re.compile(r"Input should be a valid (?:list|array|tuple).*"), "must be a list"),
    (re.compile(r"Input should be a valid string.*"), "must be text"),
    (
        re.compile(r"(?:List|Tuple|Dictionary) should have at (least|most) (\d+ items?) after validation.*"),
        r"must have at \1 \2",
    ),
    (re.compile(r"String should have at (least|most) (\d+ characters?).*"), r"must have at \1 \2"),
    (re.compile(r"Extra inputs are not permitted"), "is not known here"),
    (re.compile(r"Field required"), "is missing"),
    (re.compile(r"^Value error, "), ""),
)


def amount(number: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun, as people write it: `1 task`, `2,000 tasks`, `3 strategies`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def plain_text(value: object) -> str:
    """Return something as text that every encoder and every database takes: half a surrogate pair is spelled out."""
    return str(value).replace("\0", " ").encode(errors="backslashreplace").decode()


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


def bounded_bytes(path: Path, most: int) -> bytes:
    """All bytes of a file; an OSError where there are more than it may have."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most // 2**20:,} MiB")
    return data


def plain_demand(message: str) -> str:
    """Return a validator's message as a demand such as `must be at least 1`, without a full stop."""
    for pattern, plainer in _PLAINER:
        message = pattern.sub(plainer, message)
    return message.rstrip(".")
