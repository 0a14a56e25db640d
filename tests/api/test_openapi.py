"""The contract: the document is complete, current, and the service keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.settings import Settings
from tests.api.service import PATIENCE_S, LiveService, service

COPY = Path(__file__).parents[2] / "dashboard" / "openapi.json"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
CONNECTION = requests.Session()  # kept open: three thousand questions
CONNECTION.trust_env = False


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
    slow_down(busy_plaything)
    return busy_plaything


def slow_down(plaything: LiveService) -> None:
    """Have it race slowly again; one that races as fast as it can takes the core from all other tests."""
    plaything.client.patch("/api/simulation", json={"speed": 50})


def operations() -> list[str]:
    """Every operation by its name; a test holds that the dashboard's copy, which is read quickly, is current."""
    paths: dict[str, dict[str, Any]] = json.loads(COPY.read_text())["paths"]
    return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """What each operation takes and answers."""
    return create_app(Settings()).openapi()


def test_the_dashboards_copy_of_the_document_is_current() -> None:
    written = json.loads(COPY.read_text())
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


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def ask(case: Case[Any], plaything: LiveService) -> None:
    case.call_and_validate(base_url=plaything.url, session=CONNECTION, checks=CHECKS, timeout=PATIENCE_S)
    if isinstance(case.body, dict) and "speed" in case.body:
        slow_down(plaything)


@pytest.mark.parametrize("operation", operations())
def test_whatever_is_asked_the_answer_is_documented(
    operation: str, described: dict[str, Any], plaything: LiveService
) -> None:
    method, path = operation.split(" ")
    alone = {path: {method.lower(): described["paths"][path][method.lower()]}}
    schema = schemathesis.openapi.from_dict({**described, "paths": alone})
    (found,) = schema.get_all_operations()
    assert isinstance(found, Ok)
    # As Schemathesis's own decorator does it, but that thinks out all questions in every process that collects.
    asked = build_operation_test(
        config=schema.config, operation=found.ok(), test_func=ask, given_kwargs={}, feedback=FeedbackSources()
    )
    asked(plaything=plaything)


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
