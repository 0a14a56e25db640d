"""Messages about files that people send."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hybrid_ml_scheduler.service.wire.common import Answer

__all__ = ["HardwareFacts", "TraceContent", "UploadCard", "UploadId", "UploadList", "UploadRemoved", "UploadUse"]

UploadUse = Literal["trace", "hardware", "throughputs"]
UploadId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="An upload, as `/api/uploads` names it.")]


class TraceContent(Answer):
    """What was read from a trace."""

    tasks: int
    kinds: int = Field(description="How many kinds of work it names.")
    commonest_kinds: dict[str, int] = Field(description="The commonest kinds with their tasks; at most twelve.")
    span_s: float = Field(description="Seconds from the first arrival to the last.")
    arrival_rate: float | None = Field(description="Tasks a second, on average; none where all arrive at once.")
    measured: int = Field(description="Tasks with measured seconds.")
    most_gpus: int = Field(description="The most GPUs that a task needs at once.")
    dependencies: int
    left_out: list[str] = Field(description="What was left out, and why.")
    notes: list[str] = Field(description="What was assumed where the file says nothing.")


class HardwareFacts(Answer):
    """What was read from a hardware profile."""

    devices: list[str]


class UploadCard(Answer):
    """A file that was checked completely and is kept."""

    upload_id: str
    name: str
    use: UploadUse
    dialect: str | None = Field(description="The form it was read in; none where it was recognised.")
    columns: dict[str, str] = Field(description="Columns of a task, and what the file calls them.")
    bytes: int
    at: datetime
    trace: TraceContent | None
    hardware: HardwareFacts | None
    runs: list[int] = Field(description="Stored runs that need it; it cannot be removed before them.")


class UploadList(Answer):
    """The files that are kept, newest first."""

    uploads: list[UploadCard]
    total_bytes: int
    most_bytes: int = Field(description="What all uploads together may take.")
    most_upload_bytes: int = Field(description="What one upload may take, as it is sent.")


class UploadRemoved(Answer):
    """An upload that is gone."""

    upload_id: str
