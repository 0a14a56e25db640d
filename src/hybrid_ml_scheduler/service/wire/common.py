"""What every message has in common: strict fields, no NaN, one shape for errors."""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from hybrid_ml_scheduler.schedulers.naming import IDENTIFIER_PATTERN

__all__ = ["Answer", "AsObject", "Demand", "FieldProblem", "Problem", "Share", "StrategyChoice", "StrategyName"]

StrategyName = Annotated[str, Field(pattern=IDENTIFIER_PATTERN)]
# A name, or a file and the class in it as whoever started the service has written them.
StrategyChoice = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[^\x00-\x1f\x7f]+$")]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Answer(BaseModel):
    """Something the service says; every field is always present."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class AsObject:
    """Sends a stored row, a named tuple, as an object of its fields, so that no message declares them again."""

    def __init__(self, name: str, meaning: str, **sent_as: Any) -> None:
        self._name = name
        self._meaning = meaning
        self._sent_as = sent_as

    def __get_pydantic_core_schema__(self, row: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the message; fields named in `sent_as` have another type there than in the row."""
        hints = {**get_type_hints(row, include_extras=True), **self._sent_as}
        fields: dict[str, Any] = {name: (hint, ...) for name, hint in hints.items()}
        message = create_model(self._name, __base__=Answer, __doc__=self._meaning, **fields)
        return core_schema.no_info_before_validator_function(_fields, handler(message))


def _fields(row: Any) -> Any:
    return row._asdict() if isinstance(row, tuple) and hasattr(row, "_asdict") else row


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
