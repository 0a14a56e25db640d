"""Who may change something."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader

from hybrid_ml_scheduler.core.errors import HmsError

__all__ = ["Unauthorised", "require_api_key"]

_KEY_HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, description="Needed for changing calls in production.")


class Unauthorised(HmsError):
    """The API key is missing or wrong."""


async def require_api_key(request: Request, key: Annotated[str | None, Depends(_KEY_HEADER)]) -> None:
    """Refuse a changing call without the right key, where a key is set."""
    wanted: str | None = request.app.state.required_api_key
    if wanted is None:
        return
    if key is None or not hmac.compare_digest(key.encode(), wanted.encode()):
        raise Unauthorised("This call needs the right API key in the header X-API-Key.")
