"""Every error as problem+json, from one tree."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from hybrid_ml_scheduler.api.dependencies import Unauthorised
from hybrid_ml_scheduler.core.errors import HmsError, StorageError
from hybrid_ml_scheduler.core.text import plain_demand
from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.service.problems import PROBLEM_MEDIA_TYPE, Conflict, NotFound, Unavailable
from hybrid_ml_scheduler.service.wire.common import FieldProblem, Problem
from hybrid_ml_scheduler.storage import StoreUnavailableError

__all__ = ["install_error_handlers", "problem_response"]

_log = get_logger("hms.errors")

_STATUS: tuple[tuple[type[HmsError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (Unauthorised, 401),
    (Unavailable, 503),
    (StorageError, 503),  # whether it is away or refuses: the client can do nothing about it
)
_PASSING = (Unavailable, StoreUnavailableError)
_FIELDS_SHOWN = 10
# How a validator calls the forms that a value may have.
_FORM = re.compile(r"constrained-\w+|(?:literal|function-\w+|list|tuple|nullable)\[.*\]")


def problem_response(status: int, detail: str, scope: Scope, errors: list[FieldProblem] | None = None) -> Response:
    """Return an error in the one shape that clients know."""
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=scope.get("path"),
        request_id=scope.get("state", {}).get("request_id"),
        errors=errors or [],
    )
    return Response(problem.model_dump_json(), status_code=status, media_type=PROBLEM_MEDIA_TYPE)


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error, expected or not, as a problem."""
    app.add_exception_handler(HmsError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)


async def _refused(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 422)
    if isinstance(error, StorageError) and not isinstance(error, _PASSING):
        _log.error("refused by the store", path=request.url.path, problem=str(error))
    response = problem_response(status, str(error), request.scope)
    if status == 401:
        response.headers["WWW-Authenticate"] = "ApiKey"
    if isinstance(error, _PASSING):
        response.headers["Retry-After"] = "2"
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    found: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    if any(one["type"] == "json_invalid" for one in found):  # its place is an offset in the body, not a field
        return problem_response(422, "The body is not valid JSON.", request.scope)
    demands: dict[str, list[str]] = {}
    for one in found:
        demands.setdefault(_place(one["loc"]), []).append(plain_demand(str(one["msg"])))
    fields = [FieldProblem(field=place, message=_either(said)) for place, said in demands.items()][:_FIELDS_SHOWN]
    first = f"{fields[0].field}: {fields[0].message}." if fields else "The request cannot be read."
    return problem_response(422, first, request.scope, fields)


def _place(location: tuple[Any, ...]) -> str:
    """Where a value stands, without the form of it that was tried (a value may have one of several forms)."""
    parts = [str(part) for part in location[1:]]
    while parts and _FORM.fullmatch(parts[-1]):
        parts.pop()
    return ".".join(parts) or str(location[0])


def _either(demands: list[str]) -> str:
    """What a value of several forms must be, as one demand."""
    first, *others = dict.fromkeys(demands)
    return " or ".join([first, *(demand.removeprefix("must be ") for demand in others)])


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 400:  # a body that cannot be read is one of the wrong values, which are all 422
        status = 422
    sentences = {404: f"There is nothing at {request.url.path}.", 405: f"{request.method} is not possible here."}
    detail = sentences.get(status, str(getattr(error, "detail", "")))
    response = problem_response(status, detail, request.scope)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _broken(request: Request, error: Exception) -> Response:
    _log.error("unexpected error", path=request.url.path, exc_info=error)
    return problem_response(500, "The service broke its own promise; the log has the details.", request.scope)
