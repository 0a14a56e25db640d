"""Errors as problem+json: one tree, one shape, one clear sentence."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError

__all__ = ["PROBLEM_MEDIA_TYPE", "Conflict", "NotFound", "Unavailable", "problem_responses"]

PROBLEM_MEDIA_TYPE = "application/problem+json"

_SENTENCES = {
    401: "The API key is missing or wrong.",
    403: "A page of this origin may not change anything.",
    404: "There is nothing under this name.",
    409: "The present state of the race does not allow this.",
    413: "The body is too large.",
    422: "A field is unknown, missing or out of range.",
    429: "Too many requests from this client.",
    500: "The service broke its own promise; its log has the details.",
    503: "A part that is needed, the store or the engine, cannot be reached or refuses.",
}


class NotFound(HmsError):
    """Nothing is stored under this id."""


class Conflict(HmsError):
    """The present state does not allow what was asked."""


class Unavailable(HmsError):
    """A part that is needed cannot be reached at the moment."""


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries for these errors, beside those that every route can give."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    wanted = sorted({413, 422, 429, 500, *statuses})
    return {
        status: {"description": f"{HTTPStatus(status).phrase}: {_SENTENCES[status]}", "content": content}
        for status in wanted
    }
