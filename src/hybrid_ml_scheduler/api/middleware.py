"""What every request passes through: an id, a log line, metrics, headers, a size limit, a rate limit."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
import uuid
from collections.abc import Mapping

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_ml_scheduler.api.errors import problem_response
from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.storage import Cache

__all__ = ["BodyLimit", "HeadAsGet", "RateLimit", "RequestLog", "SecurityHeaders"]

_log = get_logger("hms.http")

_CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_UNLIMITED = ("/api/health", "/api/metrics")


class RequestLog:
    """Gives a request its id, counts and times it, and logs it: changes and errors always, reading at level DEBUG."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identity, begin, status = uuid.uuid4().hex[:16], time.perf_counter(), 500
        scope.setdefault("state", {})["request_id"] = identity
        structlog.contextvars.bind_contextvars(request_id=identity)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = identity
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            seconds = time.perf_counter() - begin
            self._telemetry.request(scope["method"], _route(scope), status, seconds)
            speak = _log.info if status >= 400 or scope["method"] not in ("GET", "HEAD") else _log.debug
            speak("request", method=scope["method"], path=scope["path"], status=status, seconds=round(seconds, 6))
            structlog.contextvars.unbind_contextvars("request_id")


def _route(scope: Scope) -> str:
    """Return the route's pattern, so that metrics do not grow with the paths that strangers invent."""
    route = scope.get("route")
    return getattr(route, "path", "other")


class SecurityHeaders:
    """Tells browsers what this site is allowed to do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)


class HeadAsGet:
    """Answers HEAD with the head of what GET would give."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; a long answer is ended at its first piece, as if the client had gone."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        asked, is_told = {**scope, "method": "GET"}, asyncio.Event()

        async def gone() -> Message:
            await is_told.wait()
            return {"type": "http.disconnect"}

        async def head_only(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not is_told.is_set():
                is_told.set()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(asked, gone, head_only)
        if "route" in asked:  # for the log and the metrics
            scope["route"] = asked["route"]


class BodyLimit:
    """Refuses a body that says it is too large, or that turns out to be."""

    def __init__(
        self, app: ASGIApp, limit_bytes: int, larger: Mapping[str, int] | None = None, key: str | None = None
    ) -> None:
        """`larger` are the limits of single paths, for those who have the `key` where one is needed."""
        self._app = app
        self._limit = limit_bytes
        self._larger = dict(larger or {})
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request: the body is read here, so that it is refused before anything sees it."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        announced, limit = headers.get("content-length", "0"), self._limit_of(scope, headers)
        is_too_large = announced.isdigit() and int(announced) > limit
        body = None if is_too_large else await self._body(receive, limit)
        if body is None and limit < self._larger.get(scope["path"], limit):
            response = problem_response(401, "This call needs the right API key in the header X-API-Key.", scope)
            await response(scope, receive, send)
            return
        if body is None:
            response = problem_response(413, f"The body is larger than {_size_words(limit)}.", scope)
            await response(scope, receive, send)
            return
        await self._app(scope, _once({"type": "http.request", "body": body, "more_body": False}, receive), send)

    def _limit_of(self, scope: Scope, headers: Headers) -> int:
        is_known = self._key is None or hmac.compare_digest(headers.get("x-api-key", "").encode(), self._key.encode())
        return self._larger.get(scope["path"], self._limit) if is_known else self._limit

    async def _body(self, receive: Receive, limit: int) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b"".join(parts)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)


def _once(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives this message first."""
    waiting = [message]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given


class RateLimit:
    """Refuses a client that asks too often; the counts live in Redis or in this process."""

    def __init__(self, app: ASGIApp, rate: tuple[int, float], cache: Cache) -> None:
        self._app = app
        self._count, self._window_s = rate
        self._cache = cache

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/") or scope["path"] in _UNLIMITED:
            await self._app(scope, receive, send)
            return
        client = scope["client"][0] if scope.get("client") else "unknown"
        used = await self._cache.count(f"rate:{client}", window_s=self._window_s)
        rest = max(0, self._count - used.value)
        headers = {
            "RateLimit-Limit": str(self._count),
            "RateLimit-Remaining": str(rest),
            "RateLimit-Reset": str(max(1, math.ceil(used.reset_s))),
        }
        if used.value > self._count:
            sentence = f"More than {self._count} calls in {self._window_s:g} s; wait {headers['RateLimit-Reset']} s."
            response = problem_response(429, sentence, scope)
            response.headers.update({**headers, "Retry-After": headers["RateLimit-Reset"]})
            await response(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await self._app(scope, receive, sent)


def _size_words(size: int) -> str:
    return f"{size / 2**20:.3g} MB" if size >= 2**20 else f"{size:,} bytes"
