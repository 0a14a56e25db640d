"""What if: the effect of every other decision, and real runs that say that they are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.api.service import service
from tests.api.test_measured_runs import NEW
from tests.e2e.browser import tab
from tests.e2e.test_access import serious_problems
from tests.e2e.test_views import number


def signed(text: str) -> float:
    """A change as a person reads it."""
    return 0.0 if text == "±0" else number(text.replace("+", ""))


def measured_run(live: Any) -> int:
    """A real run of one strategy beside what the model says of another."""
    run_id = int(live.post("/api/runs/measured", {**NEW, "tasks": 50}, status=201)["run_id"])
    tasks = {"first": 0, "kind": ["fft"] * 50, "size": [100.0] * 50, "arrival_s": [0.0] * 50}
    live.post(f"/api/runs/{run_id}/measured_tasks", tasks)
    for scheduler, source, step in (("hybrid_ml", "measured", 0.01), ("cpu_only", "modelled", 0.02)):
        times = {"start_s": [i * step for i in range(50)], "finish_s": [(i + 1) * step for i in range(50)]}
        results = {"scheduler": scheduler, "source": source, "first": 0, "place": [0] * 50, **times}
        live.post(f"/api/runs/{run_id}/measured_results", results)
    return run_id


def test_the_audit_answers_what_if_and_real_runs_are_marked(browser: Browser, tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "round_robin,oracle", "HMS_SPEED": "200"}) as live:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] > 100)
        live.held("pause")
        truth = live.get("/api/runs/1/what_if", scheduler="round_robin", task_id=60)["task"]
        with tab(browser, live.url) as opened:
            page = opened.open("/strategies/round_robin?task=60")
            panel = page.locator("li[data-strategy='round_robin']")
            panel.get_by_text("What if it had been decided otherwise?").click()
            rows = panel.locator("tr[data-other]")
            expect(rows).to_have_count(len(truth["alternatives"]))
            shown = [row.get_attribute("data-other") for row in rows.all()]
            assert shown == [one["device"] for one in truth["alternatives"]]
            for row, other in zip(rows.all(), truth["alternatives"], strict=True):
                cells = row.locator("td").all_inner_texts()
                wanted = [other[f"{key}_s"] for key in ("latency", "latency_change", "others_change", "total_change")]
                assert [signed(text) for text in cells] == pytest.approx(wanted, rel=0.006, abs=1e-9), other
            expect(panel.locator("[data-what-if]")).to_contain_text(
                "No other decision would" if truth["regret_s"] <= 0 else "all tasks together would have been done"
            )
            assert serious_problems(page) == []
            page.get_by_role("button", name="Close", exact=True).click()
            page.get_by_role("button", name="Look for them").click()
            most = live.get("/api/runs/1/costliest", scheduler="round_robin", count=10)["tasks"]
            costly = page.get_by_role("region", name="Decisions that cost most").locator("tr[data-task]")
            expect(costly).to_have_count(len(most))
            assert [row.get_attribute("data-task") for row in costly.all()] == [str(one["task_id"]) for one in most]
            for row, one in zip(costly.all(), most, strict=True):
                told = row.locator("td").all_inner_texts()[-2:]
                assert [signed(text) for text in told] == pytest.approx([one["latency_s"], one["regret_s"]], rel=0.006)
            run = measured_run(live)
            opened.open(f"/runs?compare=1,{run}")
            expect(page.locator(f"tr[data-run='{run}'] [data-source='measured']")).to_be_visible()
            expect(page.get_by_text("lies outside the validated range")).to_be_visible()
            expect(page.locator("tr[data-strategy='cpu_only.modelled'] [data-source='modelled']")).to_be_visible()
            assert opened.complaints == []


def test_a_new_run_takes_knowledge_and_a_type_of_gpu(browser: Browser, tmp_path: Path) -> None:
    with (
        service(tmp_path, {"HMS_SCHEDULERS": "greedy,oracle", "HMS_SPEED": "50"}) as live,
        tab(browser, live.url) as one,
    ):
        live.post("/api/simulation/start")
        page = one.open("/")
        page.get_by_role("button", name="Begin a new run").click()
        page.get_by_label("Type of the GPUs").select_option("h200")
        page.get_by_label("Strategies know durations").select_option("learned")
        page.get_by_role("button", name="Begin", exact=True).click()
        status = live.wait(lambda now: now["run_id"] == 2)
        assert status["knowledge"] == "learned"
        refused = live.client.post("/api/simulation/start", json={"new_run": True, "gpu_type": "abacus"})
        assert refused.status_code == 422
        assert "abacus" in refused.json()["detail"]
        assert one.complaints == []
