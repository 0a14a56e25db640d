"""A value that the service cannot take is refused in the product's own words, with every form that it may have."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastapi import FastAPI, Query
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict, Field

from hybrid_ml_scheduler.api.errors import install_error_handlers
from hybrid_ml_scheduler.service.ports import StatsWindow


class Inner(BaseModel):
    """An object within the body."""

    model_config = ConfigDict(extra="forbid")
    gpus: Annotated[int, Field(ge=1)]


class Body(BaseModel):
    """What is sent."""

    model_config = ConfigDict(extra="forbid")
    nodes: Annotated[list[Inner], Field(min_length=1)]


async def stats(window: Annotated[StatsWindow, Query()] = 1000) -> str:
    return str(window)


async def ask(body: Body) -> int:
    return len(body.nodes)


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    install_error_handlers(app)
    app.get("/stats")(stats)
    app.post("/ask")(ask)
    return TestClient(app)


@pytest.mark.parametrize(
    ("window", "detail"),
    [
        ("abc", "window: must be a whole number or 'shift' or 'run'."),
        ("3", "window: must be at least 10 or 'shift' or 'run'."),
    ],
)
def test_a_value_of_several_forms_is_refused_with_all_of_them(window: str, detail: str, client: TestClient) -> None:
    answer = client.get("/stats", params={"window": window})
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert len(answer.json()["errors"]) == 1


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"nodes": []}, "nodes: must have at least 1 item."),
        ({"nodes": ["t4"]}, "nodes.0: must be an object."),
        ({"nodes": [{"gpus": 1, "gpu": 2}]}, "nodes.0.gpu: is not known here."),
        ({"nodes": [{}]}, "nodes.0.gpus: is missing."),
        ({"nodes": 3}, "nodes: must be a list."),
    ],
)
def test_a_wrong_body_is_refused_in_plain_words(body: Any, detail: str, client: TestClient) -> None:
    answer = client.post("/ask", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
