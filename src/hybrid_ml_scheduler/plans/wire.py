"""What records that the wire sends as they are have in common: moments, and fields that are always there."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, PlainSerializer, TypeAdapter

__all__ = ["ALWAYS_PRESENT", "Moment", "moment"]

# A field with a default is there all the same in every message, and there are no other fields.
ALWAYS_PRESENT = ConfigDict(extra="ignore", json_schema_serialization_defaults_required=True)
_DATES = TypeAdapter(datetime)


def moment(seconds: float) -> datetime:
    """Return a wall-clock moment."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc)


def _seconds(value: object) -> object:
    return _DATES.validate_python(value).timestamp() if isinstance(value, str) else value


# Seconds since 1970 inside, a date and a time on the wire.
Moment = Annotated[float, BeforeValidator(_seconds), PlainSerializer(moment, when_used="json")]
