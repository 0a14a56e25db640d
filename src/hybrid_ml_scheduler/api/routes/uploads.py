"""Files that people send: traces to race, and hardware profiles."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from hybrid_ml_scheduler.api.dependencies import UploadsDep, require_api_key
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.uploads.uploads import NewUpload
from hybrid_ml_scheduler.service.wire.uploads import (
    UploadCard,
    UploadId,
    UploadList,
    UploadRemoved,
    UploadUse,
)

__all__ = ["UPLOADS_PATH", "router"]

UPLOADS_PATH = "/api/uploads"

router = APIRouter(prefix=UPLOADS_PATH, tags=["uploads"])

_CHANGING: dict[str, Any] = {
    "dependencies": [Depends(require_api_key)],
    "responses": problem_responses(401, 403, 404, 409, 503),
}
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file as it is, or packed with gzip.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
# A name and no path: letters of any language, no slashes, no control characters, not hidden.
_PLAIN = r"^[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*$"
_NAME = Query(min_length=1, max_length=120, pattern=_PLAIN, description="The name of the file.")
_Short = Annotated[str, Query(min_length=1, max_length=64)]


@router.get("", responses=problem_responses(503))
async def list_uploads(uploads: UploadsDep) -> UploadList:
    """Return the files that are kept, newest first, each with what was read from it."""
    return await uploads.listing()


def _rows(pairs: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        column, sign, value = pair.partition("=")
        if not (column and sign):
            raise PlanError(f"where = {pair!r} must have the form COLUMN=VALUE, such as status=COMPLETED.")
        found.setdefault(column, []).append(value)
    return found


def _trace_options(
    where: Annotated[
        list[Annotated[str, Query(max_length=200)]],
        Query(max_length=32, description="`COLUMN=VALUE`: take only rows of a table with this value. May be repeated."),
    ] = [],  # noqa: B006 - never changed
    gpu_type: Annotated[_Short | None, Query(description="The type of GPU that GPU times were measured on.")] = None,
) -> dict[str, Any]:
    """The trace options that a client may set."""
    return {**({} if gpu_type is None else {"gpu_type": gpu_type}), **({"where": _rows(where)} if where else {})}


@router.post("", status_code=201, openapi_extra=_FILE, **_CHANGING)
async def upload(
    request: Request,
    uploads: UploadsDep,
    name: Annotated[str, _NAME],
    options: Annotated[dict[str, Any], Depends(_trace_options)],
    use: Annotated[UploadUse, Query(description="What the file is.")] = "trace",
    dialect: Annotated[_Short | None, Query(description="The form of a trace; recognised where none is given.")] = None,
    column: Annotated[
        list[Annotated[str, Query(max_length=200)]],
        Query(max_length=32, description="`OURS=THEIRS`: what the CSV calls a column of a task. May be repeated."),
    ] = [],  # noqa: B006 - never changed
    table: Annotated[
        UploadId | None, Query(description="The uploaded table of throughputs that a Gavel stream is read with.")
    ] = None,
) -> UploadCard:
    """Take in a file: it is read completely before it is kept, and refused in one sentence if it cannot be."""
    new = NewUpload(
        name=name,
        data=await request.body(),
        use=use,
        dialect=dialect,
        columns=_columns(column),
        options=options,
        table=table,
    )
    return await uploads.add(new)


def _columns(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        ours, sign, theirs = pair.partition("=")
        if not (ours and sign and theirs) or ours in found:
            raise PlanError(f"column = {pair!r} must have the form OURS=THEIRS, each of ours once.")
        found[ours] = theirs
    return found


@router.delete("/{upload_id}", **_CHANGING)
async def remove(uploads: UploadsDep, upload_id: Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]) -> UploadRemoved:
    """Remove a file; one that a stored run needs stays until the run is removed."""
    return await uploads.remove(upload_id)
