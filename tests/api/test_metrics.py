"""Metrics and health say what is so."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from tests.api.service import LiveService


def samples(live: LiveService) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = live.client.get("/api/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_have_the_values_that_the_service_has(running: LiveService) -> None:
    status = running.held()
    first = samples(running)
    assert first["hms_tasks_total", ()] == status["tasks_total"]
    assert first["hms_run_tasks", ()] == status["tasks_processed"]
    assert first["hms_race_running", ()] == 0
    for name in status["schedulers"]:
        count = first["hms_decision_seconds_count", (("scheduler", name),)]
        assert count >= status["tasks_processed"]
        assert first["hms_decision_seconds_sum", (("scheduler", name),)] > 0
        busy = [first["hms_device_utilization", (("device", f"gpu_{gpu}"), ("scheduler", name))] for gpu in range(4)]
        assert all(0 <= share <= 1 for share in busy)
    assert first["hms_model_updates_total", (("scheduler", "hybrid_ml"),)] == status["learning"]["hybrid_ml"]["updates"]
    assert first["hms_store_rows_total", ()] > status["tasks_processed"]
    assert first["hms_store_backlog_rows", ()] == 0
    key = ("hms_http_requests_total", (("method", "GET"), ("route", "/api/status"), ("status", "200")))
    before = samples(running)[key]
    running.status()
    assert samples(running)[key] == before + 1


def test_invented_paths_do_not_grow_the_metrics(running: LiveService) -> None:
    for place in range(30):
        running.client.get(f"/api/invented/{place}")
    routes = {dict(labels).get("route") for (name, labels) in samples(running) if name == "hms_http_requests_total"}
    assert not any("invented" in str(route) for route in routes)


def test_health_names_every_part_with_its_latency(running: LiveService) -> None:
    health = running.health("ok").json()
    assert health["database"]["latency_ms"] > 0
    assert health["cache"]["status"] == health["engine"]["status"] == "ok"


def test_the_catalogue_lists_strategies_presets_and_limits(running: LiveService) -> None:
    cards = {card["name"]: card for card in running.get("/api/strategies")}
    assert {name for name, card in cards.items() if card["in_race"]} == set(running.status()["schedulers"])
    assert cards["hybrid_ml"]["learns"]
    assert len({card["color"] for card in cards.values()}) == len(cards)
    presets = {preset["name"]: preset for preset in running.get("/api/presets")}
    assert presets["cpu_friendly"]["memory_range"] == [4000.0, 8000.0]
    assert running.get("/api/settings")["max_body_bytes"] == 65536


def test_the_root_answers_json_to_a_client_that_asks_for_it(running: LiveService) -> None:
    answer = running.client.get("/", headers={"Accept": "application/json"})
    assert answer.json()["status"] == "online"
