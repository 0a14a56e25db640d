"""What validators say of a value, in the product's own words."""

from __future__ import annotations

import re

__all__ = ["plain_demand"]

# Each becomes a demand that follows the value's name.
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


def plain_demand(message: str) -> str:
    """Return a validator's message as a demand such as `must be at least 1`, without a full stop."""
    for pattern, plainer in _PLAINER:
        message = pattern.sub(plainer, message)
    return message.rstrip(".")
