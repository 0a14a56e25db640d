"""The live race as it starts by itself: hidden durations, learned by whoever is told nothing more than the formula."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_ml_scheduler.settings import Settings
from tests.api.service import LiveService, service

DEFAULTS = Settings.model_fields
LEARNERS = "earliest_finish,hybrid_ml,oracle,earliest_finish@nominal,earliest_finish@exact"


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A race on the defaults for workload and knowledge."""
    usual = {f"HMS_{name.upper()}": str(DEFAULTS[name].default) for name in ("workload", "knowledge")}
    environment = {**usual, "HMS_SCHEDULERS": LEARNERS, "HMS_SPEED": "0"}
    with service(tmp_path_factory.mktemp("unknown"), environment) as live:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] > 300)
        yield live


def test_the_default_race_hides_durations_and_names_the_level_of_every_racer(unknown: LiveService) -> None:
    assert (DEFAULTS["workload"].default, DEFAULTS["knowledge"].default) == ("unknown", "learned")
    status = unknown.status()
    assert status["knowledge"] == "learned"
    assert status["schedulers"] == LEARNERS.split(",")
    labels = {card["name"]: card["label"] for card in unknown.get("/api/strategies") if card["in_race"]}
    assert labels["hybrid_ml"] == "Hybrid ML (learned)"
    assert labels["oracle"] == "Oracle (exact)"
    assert labels["earliest_finish@exact"] == "Earliest finish (exact)"


def test_a_drift_is_marked_stored_and_told_in_words(unknown: LiveService) -> None:
    answer = unknown.client.patch("/api/simulation", json={"drift": {"factor": 4.0}})
    assert answer.status_code == 200, answer.text
    assert (
        "Drift: 50% of the kinds of work take 4 times as long"
        in unknown.get("/api/history/trend")["shifts"][-1]["message"]
    )
    for bad in ({"factor": 1.0}, {"share": 0.0}, {"device": "tpu"}, {"speed": 2}):
        assert unknown.client.patch("/api/simulation", json={"drift": bad}).status_code == 422


def test_kinds_reach_the_ledger_the_audit_and_tasks_from_outside(unknown: LiveService) -> None:
    asked = {"size": 500.0, "compute_intensity": 0.5, "memory_required": 50.0, "kind": "kind-3"}
    given = unknown.post("/api/tasks", asked, run="true")
    belief = given["decisions"]["earliest_finish"]["reason"]["belief"]
    assert "runs of this kind on the CPU" in belief["cpu"]
    unknown.held("pause")
    audit = unknown.get(f"/api/tasks/{given['task_id']}")
    assert audit["task"]["kind"] == "kind-3"
    rows = unknown.get("/api/history/ledger", limit=50)["rows"]
    kinds = {row["kind"] for row in rows}
    assert len(kinds) > 1
    assert all(kind.startswith("kind-") for kind in kinds)
    unknown.post("/api/simulation/resume")


def test_a_new_run_chooses_its_level_and_refuses_one_that_does_not_exist(tmp_path: Path) -> None:
    with service(tmp_path / "levels", {"HMS_SCHEDULERS": "earliest_finish"}) as live:
        begun = live.post("/api/simulation/start", {"workload": "unknown", "knowledge": "nominal"})
        assert (begun["knowledge"], begun["workload"]["preset"]) == ("nominal", "unknown")
        wrong = live.client.post("/api/simulation/start", json={"new_run": True, "knowledge": "guessed"})
        assert wrong.status_code == 422
        late = live.client.post("/api/simulation/start", json={"knowledge": "exact"})
        assert late.status_code == 409
        assert "knowledge" in late.json()["detail"]
