"""A file that is made while it is sent; one that cannot be finished is seen to be unfinished."""

from __future__ import annotations

from starlette.responses import StreamingResponse
from starlette.types import Send

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.service.logs import get_logger

__all__ = ["DownloadResponse"]

_log = get_logger("hms.http")


class DownloadResponse(StreamingResponse):
    """Sends pieces as they come. If the store goes away meanwhile, the connection ends before the file does."""

    async def stream_response(self, send: Send) -> None:
        """Send everything; without its end the server breaks the connection, which is all that a client can be told."""
        try:
            await super().stream_response(send)
        except StorageError as problem:
            _log.error("a download was broken off", problem=str(problem))
