"""The contract: the document is complete, current, and the service keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.settings import Settings
from tests.api.service import PATIENCE_S, LiveService, service

ROOT = Path(__file__).parents[2]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]


@pytest.fixture(scope="module")
def busy_plaything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service of one's own, for whatever is asked may also begin, change and clear runs."""
    with service(tmp_path_factory.mktemp("plaything"), {"HMS_SEED": "7"}) as live:
        live.post("/api/simulation/start", {"speed": 400})
        live.wait(lambda status: status["tasks_processed"] > 100)
        yield live


@pytest.fixture
def plaything(busy_plaything: LiveService) -> LiveService:
    """The same, slowed down: what was asked before may have had it race as fast as it can."""
    busy_plaything.client.patch("/api/simulation", json={"speed": 50})
    return busy_plaything


schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())


def test_the_dashboards_copy_of_the_document_is_current() -> None:
    written = json.loads((ROOT / "dashboard" / "openapi.json").read_text())
    assert written == json.loads(json.dumps(create_app(Settings()).openapi())), (
        "run: python -m hybrid_ml_scheduler.api.openapi"
    )


def test_every_operation_is_described_and_names_its_errors() -> None:
    document = create_app(Settings()).openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            if path.startswith("/api/"):
                assert {"422", "429"} <= set(operation["responses"]), (method, path)


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = create_app(Settings()).openapi()
    known = set(document["components"]["schemas"])

    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"].rpartition("/")[2]} if isinstance(part.get("$ref"), str) else set()
            return own.union(*map(references, part.values()))
        return set().union(*map(references, part)) if isinstance(part, list) else set()

    assert references(document) <= known
    assert {"Snapshot", "SimulationUpdate", "Notification", "LogLine", "Focus", "Problem"} <= known


@schema.parametrize()
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_whatever_is_asked_the_answer_is_documented(case: Case[Any], plaything: LiveService) -> None:
    case.call_and_validate(base_url=plaything.url, checks=CHECKS, timeout=PATIENCE_S)


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "PATCH", "TRACE"])
@pytest.mark.parametrize("path", ["/api/status", "/api/simulation/start", "/api/history", "/api/tasks/1", "/api/no"])
def test_a_wrong_method_or_path_is_a_problem_and_never_an_error_of_ours(
    plaything: LiveService, method: str, path: str
) -> None:
    answer = plaything.client.request(method, path)
    assert answer.status_code < 500
    if answer.status_code in (404, 405):
        assert answer.json()["status"] == answer.status_code
        assert answer.json()["detail"]
