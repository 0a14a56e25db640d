"""Where browsers may come from: what other sites may read, and what they may change."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hybrid_ml_scheduler.api.errors import problem_response

__all__ = ["OriginLimit", "Sharing"]

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

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; whoever is no browser sends no origin."""
        if scope["type"] != "http" or scope["method"] in _READING or self._is_welcome(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        sentence = "This origin may not change anything; HMS_ALLOWED_ORIGINS names those that may."
        await problem_response(403, sentence, scope)(scope, receive, send)

    def _is_welcome(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None or origin in self._origins:
            return True
        try:
            place = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(place) and place.lower() == headers.get("host", "").lower()
