"""Where browsers may come from: what other sites may read, and what they may change."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hybrid_ml_scheduler.api.errors import problem_response

__all__ = ["OriginLimit", "Sharing", "is_welcome"]

_READING = ("GET", "HEAD", "OPTIONS")


class Sharing(CORSMiddleware):
    """Tells browsers which other origins may read the answers; a refused question is a problem like any other."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=list(origins),
            allow_methods=["GET", "HEAD", "POST", "PATCH", "DELETE"],
            allow_headers=["Content-Type", "X-API-Key"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a browser that asks beforehand."""
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        reason = bytes(answer.body).decode()
        refusal = problem_response(403, f"Another origin may not ask this: {reason}.", {})
        kept = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
        refusal.headers.update(kept)
        return refusal


class OriginLimit:
    """Refuses a changing call that a browser sends for a page from elsewhere: no script of another site may steer."""

    def __init__(self, app: ASGIApp, origins: Sequence[str], *, needs_key: bool) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._needs_key = needs_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; whoever is no browser sends no origin."""
        if scope["type"] != "http" or scope["method"] in _READING or self._is_welcome(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        sentence = "This origin may not change anything; HMS_ALLOWED_ORIGINS names those that may."
        await problem_response(403, sentence, scope)(scope, receive, send)

    def _is_welcome(self, headers: Headers) -> bool:
        return is_welcome(headers, self._origins, by_any_name=self._needs_key)


def is_welcome(headers: Headers, origins: Collection[str], *, by_any_name: bool = False) -> bool:
    """Whether a page may change or watch: one of a listed origin, this service's own, or no page at all.

    A page is our own where its origin is the very place that was asked, by number or as `localhost`. Any other name
    could be made to point here by whoever owns it, after the page was loaded from elsewhere; with `by_any_name` it
    counts, since a key is needed anyway.
    """
    origin = headers.get("origin")
    if origin is None or origin in origins:
        return True
    try:
        place = urlsplit(origin)
        name = place.hostname
    except ValueError:
        return False
    is_same_place = place.netloc.lower() == headers.get("host", "").lower()
    return name is not None and is_same_place and (by_any_name or _is_ours(name))


def _is_ours(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return True
