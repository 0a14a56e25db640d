"""Structured logs: JSON lines to stderr and to a rotating file, with the request's id in every line of a request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import logging.handlers
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import orjson
import structlog

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.storage.connect.store import cancel_and_wait

__all__ = ["configure_logs", "get_logger", "going_on"]

_FILE_BYTES = 10 * 2**20
_FILES_KEPT = 5
_SECRET_WORDS = ("key", "password", "secret", "token", "authorization")


def get_logger(name: str) -> Any:
    """Return a logger that takes an event and facts as keywords."""
    return structlog.get_logger(name)


def configure_logs(level: str, path: Path) -> None:
    """Send every log line of the process, uvicorn's included, through one formatter to stderr and a file."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _hidden_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    lines = _formatter(shared, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_as_json))
    # Somebody at a terminal reads words; programs, and the file, get JSON.
    shown = _formatter(shared, structlog.dev.ConsoleRenderer()) if sys.stderr.isatty() else lines
    root = logging.getLogger()
    root.handlers = [_with(shown, logging.StreamHandler(sys.stderr)), _with(lines, _file(path))]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.access").setLevel(logging.ERROR)
    for name in ("uvicorn.error", "alembic", "numba"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _formatter(shared: list[Any], *last: Any) -> logging.Formatter:
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[meta, *last])


def _with(formatter: logging.Formatter, handler: logging.Handler) -> logging.Handler:
    handler.setFormatter(formatter)
    return handler


def _file(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return logging.handlers.RotatingFileHandler(path, maxBytes=_FILE_BYTES, backupCount=_FILES_KEPT)
    except OSError as error:
        raise ConfigurationError(f"The log file {path} cannot be written: {error.strerror}.") from error


def _hidden_secrets(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Blank whatever is named like a secret: nobody should log one, and nobody must."""
    for name in event:
        if any(word in name.lower() for word in _SECRET_WORDS):
            event[name] = "***"
    return event


def _as_json(event: dict[str, Any], **_options: object) -> str:
    try:
        return orjson.dumps(event, default=str).decode()
    except TypeError:  # half a surrogate pair, as in the traceback of a strategy that was given an odd file's name
        return json.dumps(event, default=str)


_log = get_logger("hms.background")


@contextlib.asynccontextmanager
async def going_on(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Have work done until the end of the block; what breaks before is logged, and nothing else ends with it."""
    tasks = [asyncio.create_task(one) for one in work]
    for task in tasks:
        task.add_done_callback(_looked_at)
    try:
        yield
    finally:
        await cancel_and_wait(*tasks)


def _looked_at(task: asyncio.Task[None]) -> None:
    problem = None if task.cancelled() else task.exception()
    if problem is not None:
        _log.error("background work ended", exc_info=problem)
