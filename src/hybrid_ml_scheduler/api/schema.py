"""The OpenAPI document, WebSocket messages included."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from hybrid_ml_scheduler.service.wire import live
from hybrid_ml_scheduler.service.wire.common import Problem

__all__ = ["install_openapi"]

_SPOKEN = (live.Snapshot, live.SimulationUpdate, live.Notification, live.LogLine, Problem)
_REFERENCE = "#/components/schemas/{model}"


def _socket_schemas() -> dict[str, Any]:
    """Return the schemas of all that is said over the WebSocket."""
    modes: list[tuple[Any, JsonSchemaMode]] = [(model, "serialization") for model in _SPOKEN]
    modes.append((live.Focus, "validation"))
    _, definitions = models_json_schema(modes, ref_template=_REFERENCE)
    found: dict[str, Any] = definitions["$defs"]
    message = TypeAdapter[Any](live.ServerMessage).json_schema(mode="serialization", ref_template=_REFERENCE)
    message.pop("$defs", None)
    found["ServerMessage"] = message
    found["ClientMessage"] = {"$ref": "#/components/schemas/Focus"}
    return found


def install_openapi(app: FastAPI) -> None:
    """Make the app answer with a complete document, built once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            built = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = built.setdefault("components", {}).setdefault("schemas", {})
            schemas.update({name: schema for name, schema in _socket_schemas().items() if name not in schemas})
            built["x-websocket"] = {
                "/ws": {
                    "receive": {"$ref": "#/components/schemas/ServerMessage"},
                    "send": {"$ref": "#/components/schemas/ClientMessage"},
                }
            }
            app.openapi_schema = built
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
