"""What every message has in common: strict fields, no NaN, one shape for errors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hybrid_ml_scheduler.schedulers.naming import IDENTIFIER_PATTERN

__all__ = ["Answer", "Demand", "FieldProblem", "Problem", "Share", "StrategyChoice", "StrategyName"]

StrategyName = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]
# A name, or a file and the class in it as whoever started the service has written them.
StrategyChoice = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[^\x00-\x1f\x7f]+$")]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Answer(BaseModel):
    """Something the service says; every field is always present."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class Demand(BaseModel):
    """Something a client asks for; unknown fields and NaN are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FieldProblem(Answer):
    """One wrong field of a request."""

    field: str
    message: str


class Problem(Answer):
    """An error as RFC 9457 (application/problem+json) describes it."""

    type: str = Field(default="about:blank", description="A name for this kind of problem.")
    title: str
    status: int
    detail: str = Field(description="One clear sentence.")
    instance: str | None = Field(default=None, description="The path that was asked for.")
    request_id: str | None = None
    errors: list[FieldProblem] = Field(default_factory=list)
