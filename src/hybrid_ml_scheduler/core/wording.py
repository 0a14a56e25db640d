"""What validators say of a value, in our words: a demand that follows the value's name."""

from __future__ import annotations

import re

__all__ = ["plain_demand"]

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
    (re.compile(r"^Value error, "), ""),
)


def plain_demand(message: str) -> str:
    """Return a validator's message as a demand such as `must be at least 1`, without a full stop."""
    for pattern, plainer in _PLAINER:
        message = pattern.sub(plainer, message)
    return message.rstrip(".")
