"""Who adapted to a change: the answer is what the stored rows say."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.api.service import LiveService


@pytest.fixture
def shifted(running: LiveService) -> LiveService:
    """A race that was shifted a while ago, held where everything is stored."""
    running.client.patch("/api/simulation", json={"speed": 100, "workload": "cpu_friendly"})
    before = running.status()["tasks_processed"]
    running.wait(lambda now: now["tasks_processed"] > before + 200)
    running.held("pause")
    return running


def test_what_a_change_cost_each_strategy_is_what_the_rows_say(shifted: LiveService) -> None:
    found = shifted.get("/api/learning/adaptation")
    shift, width = found["shift"], found["tasks_per_point"]
    assert shift["workload"] == "cpu_friendly"
    assert found["shifts"][-1] == shift
    rows = {one["task"]["task_id"]: one["results"] for one in shifted.get("/api/history/comparative", limit=1000)}
    fastest = {one["task_id"]: one["optimal_time"] for one in shifted.get("/api/full_history", limit=1000)}
    for one in found["strategies"]:
        name = one["name"]
        loss = {task: results[name]["latency"] - fastest[task] for task, results in rows.items() if task in fastest}
        since = range(shift["task_id"], found["last_task_id"] + 1)
        assert one["after_s"] == pytest.approx(fmean(loss[task] for task in since))
        for begin, value in zip(found["since_tasks"], found["regret"][name], strict=True):
            first = shift["task_id"] + begin
            step = [loss[task] for task in range(first, first + width) if task in loss and task <= since[-1]]
            if len(step) == min(width, since[-1] - first + 1):  # older ones are beyond what was asked for here
                assert value == pytest.approx(fmean(step))
    losses = [one["after_s"] for one in found["strategies"]]
    assert losses == sorted(losses)


def test_any_change_can_be_asked_for_and_one_that_was_not_is_refused_with_a_sentence(shifted: LiveService) -> None:
    shifts = shifted.get("/api/learning/adaptation")["shifts"]
    first = shifted.get("/api/learning/adaptation", change=shifts[0]["task_id"])
    assert first["shift"] == shifts[0]
    missing = shifted.client.get("/api/learning/adaptation", params={"change": 10**9})
    assert missing.status_code == 404
    assert missing.json()["detail"] == "Nothing changed in this run at task 1000000000."


def test_a_strategy_that_is_told_the_durations_has_no_beliefs_and_an_unknown_one_is_refused(
    shifted: LiveService,
) -> None:
    found = shifted.get("/api/learning/beliefs", scheduler="oracle")
    assert (found["level"], found["cells"]) == ("exact", [])
    missing = shifted.client.get("/api/learning/beliefs", params={"scheduler": "nobody"})
    assert missing.status_code == 404
    assert missing.json()["detail"] == "There is no strategy nobody in the present race."
