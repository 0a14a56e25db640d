"""Who may change something."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.security import APIKeyHeader

from hybrid_ml_scheduler.api.problems import Conflict
from hybrid_ml_scheduler.core.errors import HmsError

__all__ = ["Unauthorised", "require_api_key", "require_confirmation"]

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


async def require_confirmation(
    confirm: Annotated[bool, Query(description="Must be true: what is removed cannot be brought back.")] = False,
) -> None:
    """Refuse to remove anything unless the client says that it means it."""
    if not confirm:
        raise Conflict("Clearing the history removes every stored row; repeat the call with confirm=true.")
