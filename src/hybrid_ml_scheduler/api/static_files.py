"""The built dashboard: hashed assets for ever, the page itself always fresh, compressed where that helps."""

from __future__ import annotations

import gzip
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import FileResponse, JSONResponse, Response

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api.errors import problem_response
from hybrid_ml_scheduler.service.wire.catalog import Online

__all__ = ["STATIC", "install_dashboard"]

STATIC = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_FRESH = "no-cache"
_COMPRESSED = frozenset({".js", ".css", ".html", ".svg", ".json", ".webmanifest", ".txt"})


def install_dashboard(app: FastAPI, folder: Path = STATIC) -> None:
    """Serve the dashboard at `/` and below; its own paths fall back to the page."""
    router = APIRouter()
    root = folder.resolve()

    @router.get("/", response_model=Online, tags=["catalog"], responses=_PAGE)
    async def home(request: Request) -> Response:
        """The dashboard, or a short status for a client that asks for JSON."""
        page = root / "index.html"
        if _wants_json(request) or not page.is_file():
            online = Online(status="online", name="Hybrid ML Scheduler", version=__version__, docs="/openapi.json")
            return JSONResponse(online.model_dump())
        return _file(request, page, _FRESH)

    @router.get("/{path:path}", include_in_schema=False)
    async def asset(request: Request, path: str) -> Response:
        nothing = problem_response(404, f"There is nothing at /{path}.", request.scope)
        try:
            found = _asset(root, path)
        except (ValueError, OSError, RuntimeError):  # a NUL, a name longer than any file's, links in a circle
            return nothing
        if found is not None:
            return _file(request, found, _FOREVER if found.relative_to(root).parts[0] == "assets" else _FRESH)
        page = root / "index.html"
        if path.startswith(("api/", "ws", "assets/")) or "." in path.rpartition("/")[2] or not page.is_file():
            return nothing
        return _file(request, page, _FRESH)

    app.include_router(router)


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The dashboard, or its status as JSON.", "content": {"text/html": {}}}
}


def _asset(root: Path, path: str) -> Path | None:
    """Return the file of the dashboard that a path names, if there is one."""
    found = (root / path).resolve()
    return found if found.is_relative_to(root) and found.is_file() else None


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "*/*")
    return "application/json" in accepted and "text/html" not in accepted


def _file(request: Request, path: Path, cache: str) -> Response:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    if path.suffix not in _COMPRESSED or "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(path, media_type=kind, headers=headers)
    body = _zipped(path, path.stat().st_mtime_ns)
    return Response(body, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})


@lru_cache(maxsize=256)
def _zipped(path: Path, _changed_ns: int) -> bytes:
    return gzip.compress(path.read_bytes(), 9)
