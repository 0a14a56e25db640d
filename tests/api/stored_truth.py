"""What the widgets beside the windows show, held against the stored rows: devices, tasks, notices, ledger, changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from statistics import fmean
from typing import Any

import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.storage import open_store
from tests.api.service import LiveService
from tests.e2e.truth import snapshot

NUM_GPUS = 4
DEVICES = ("cpu", *(f"gpu_{gpu}" for gpu in range(NUM_GPUS)))
RECENT_S = 60.0
Row = dict[str, Any]
Part = tuple[int, int, float, float]

# A decision as the ledger and the audit of a task have it, and the columns that it is stored in.
DECISION = {
    "device": "device",
    "gpu_fraction": "gpu_fraction",
    "time": "actual_time",
    "latency": "latency",
    "wait": "wait",
    "energy": "energy_consumption",
    "cost": "execution_cost",
}
TASK = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time")
RUN_MEANS = {
    "avg_time": "actual_time",
    "avg_latency": "latency",
    "avg_wait": "wait",
    "avg_energy": "energy_consumption",
    "avg_cost": "execution_cost",
}


def read_rows(url: str, query: str, **given: Any) -> list[Row]:
    """The rows that a query finds."""

    async def read() -> list[Row]:
        store = await open_store(url)
        try:
            async with store.reading() as connection:
                return [dict(row) for row in (await connection.execute(sa.text(query), given)).mappings()]
        finally:
            await store.close()

    return asyncio.run(read())


def parts_of(rows: Sequence[Row], name: str) -> list[Part]:
    """Every part of a strategy's tasks: device (the CPU is 0), task, begin and end."""
    return [
        (place, row["task_id"], start, start + part)
        for row in rows
        if row["scheduler_name"] == name and not row["failed"]
        for place, start, part in (
            (0, row["cpu_start"], row["cpu_part"]),
            (row["gpu_id"] + 1, row["gpu_start"], row["gpu_part"]),
        )
        if start is not None and part > 0.0
    ]


def busy_s(parts: Sequence[Part], place: int, begin_s: float, end_s: float) -> float:
    """Seconds that a device worked between two moments."""
    return sum(max(0.0, min(end, end_s) - max(begin, begin_s)) for at, _, begin, end in parts if at == place)


def compare_clusters(clusters: dict[str, Any], rows: Sequence[Row], now_s: float) -> None:
    """How busy the devices of every strategy are, how long their queues, and when they are free."""
    since_s = max(0.0, now_s - RECENT_S)
    longest_s = 0.0
    for name, cluster in clusters.items():
        parts = parts_of(rows, name)
        for place, device in enumerate(DEVICES):
            load, ends = cluster[device], [part[3] for part in parts if part[0] == place and part[3] > now_s]
            recent = busy_s(parts, place, since_s, now_s) / (now_s - since_s)
            assert load["utilization"] == pytest.approx(recent, abs=1e-6), (name, device)
            whole = busy_s(parts, place, 0.0, now_s) / now_s
            assert load["run_utilization"] == pytest.approx(whole, abs=1e-6), (name, device)
            assert load["queue_length"] == len(ends), (name, device)
            assert load["backlog_s"] == pytest.approx(max(ends, default=now_s) - now_s, abs=1e-6), (name, device)
            longest_s = max(longest_s, load["backlog_s"])
        shares = [cluster[device]["utilization"] for device in DEVICES]
        assert cluster["average_utilization"] == pytest.approx(fmean(shares))
    assert longest_s > 1.0, "without a queue little is compared"


def compare_waiting(node: dict[str, Any], rows: Sequence[Row]) -> None:
    """How many parts were ready and had not begun, at each moment before now."""
    ready = {(row["scheduler_name"], row["task_id"]): row["ready_time"] for row in rows}
    for one in node["strategies"]:
        name = one["scheduler"]
        waits = [(ready[name, task], begin) for _, task, begin, _ in parts_of(rows, name)]
        counted = [sum(since <= moment < begin for since, begin in waits) for moment in node["times_s"]]
        assert one["waiting"] == counted, name


def compare_latest_tasks(shown: Sequence[Row], rows: Sequence[Row], last: int) -> None:
    """The dots of the scatter."""
    kept = {row["task_id"]: row for row in rows}
    numbers = [task["id"] for task in shown]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == last
    for task in shown:
        row = kept[task["id"]]
        wanted = [row[key] for key in ("size", "compute_intensity", "memory_required")]
        assert [task["size"], task["intensity"], task["memory"]] == wanted


def compare_log(told: dict[str, Any], events: dict[str, Any], notices: Sequence[Row], rows: Sequence[Row]) -> None:
    """Every line of the log: what it says of a task, and the notices as they are stored."""
    decided: dict[int, dict[str, Row]] = {}
    for row in rows:
        decided.setdefault(row["task_id"], {})[row["scheduler_name"]] = row
    lines = [line["message"] for line in told["log"] if line["message"].startswith("Task ")]
    assert lines
    for line in lines:
        number = int(line.split(":")[0].removeprefix("Task "))
        names, own = told["update"]["status"]["schedulers"], decided[number]
        facts = f"size {own[names[0]]['size']:.0f}, intensity {own[names[0]]['compute_intensity']:.2f}"
        chosen = ", ".join(f"{name} {own[name]['device']}" for name in names)
        assert line == f"Task {number}: {facts}: {chosen}."
    kept = {(row["key"], row["level"], row["message"]): row["created_at"] for row in notices}
    assert events["notifications"], "a shift was told of"
    for one in (*told["notifications"], *events["notifications"]):
        at_s = datetime.fromisoformat(one["at"]).timestamp()
        assert at_s == pytest.approx(kept[one["key"], one["level"], one["message"]], abs=1e-5, rel=0.0)
    newest_s = max(datetime.fromisoformat(one["at"]).timestamp() for one in events["notifications"])
    assert len(events["notifications"]) == sum(at_s <= newest_s + 1e-5 for at_s in kept.values())


def compare_decisions(ledger: dict[str, Any], audit: dict[str, Any], rows: Sequence[Row]) -> None:
    """Every column of a page of the ledger, and what the audit of a task says of each strategy."""
    kept = {(row["task_id"], row["scheduler_name"]): row for row in rows}
    for one in ledger["rows"]:
        row = kept[one["task_id"], one["scheduler"]]
        assert {key: one[key] for key in TASK} == {key: row[key] for key in TASK}
        assert {key: one[key] for key in DECISION} == {key: row[column] for key, column in DECISION.items()}
    for name, one in audit["strategies"].items():
        row = kept[audit["task"]["task_id"], name]
        assert {key: one[key] for key in DECISION} == {key: row[column] for key, column in DECISION.items()}
        assert audit["task"]["size"] == row["size"]
        oracle = audit["oracle"]["gpu_fraction"], audit["oracle"]["time"]
        assert oracle == pytest.approx((row["optimal_gpu_fraction"], row["optimal_time"]))


def compare_change(found: dict[str, Any], rows: Sequence[Row]) -> None:
    """What a change cost each strategy: latency above the fastest execution, step by step."""
    begin, width, last = found["shift"]["task_id"], found["tasks_per_point"], found["last_task_id"]
    for one in found["strategies"]:
        own = [row for row in rows if row["scheduler_name"] == one["name"] and not row["failed"]]
        loss = {row["task_id"]: row["latency"] - row["optimal_time"] for row in own if row["task_id"] <= last}
        steps = {
            since: [loss[task] for task in range(begin + since, begin + since + width) if task in loss]
            for since in found["since_tasks"]
        }
        means = {since: fmean(losses) for since, losses in steps.items()}
        assert found["regret"][one["name"]] == pytest.approx(list(means.values()), rel=1e-6, abs=1e-9)
        before = [value for since, losses in steps.items() if since < 0 for value in losses]
        after = [value for since, losses in steps.items() if since >= 0 for value in losses]
        worst = max(mean for since, mean in means.items() if since >= 0)
        shown = [one["before_s"], one["after_s"], one["worst_s"]]
        assert shown == pytest.approx([fmean(before), fmean(after), worst], rel=1e-6, abs=1e-9), one["name"]


def compare_card(card: dict[str, Any], rows: Sequence[Row]) -> None:
    """The figures of a run in the list and in the comparison of runs."""
    assert card["tasks"] == len({row["task_id"] for row in rows})
    assert {one["name"] for one in card["standings"]} == {row["scheduler_name"] for row in rows}
    for one in card["standings"]:
        done = [row for row in rows if row["scheduler_name"] == one["name"] and not row["failed"]]
        for key, column in RUN_MEANS.items():
            assert one[key] == pytest.approx(fmean(row[column] for row in done)), (card["run_id"], one["name"], key)
        assert one["longest_latency"] == max(row["latency"] for row in done)
        assert one["makespan"] == pytest.approx(max(row["finish_time"] for row in done))


def ask_beside(live: LiveService, status: dict[str, Any]) -> dict[str, Any]:
    """What the widgets show that are about no window."""
    run_id, last = status["run_id"], status["last_task_id"]
    return {
        "told": snapshot(live),
        "events": live.get("/api/events", run_id=run_id, limit=1000),
        "recent": live.get("/api/history/trend", points=60, latest=1000),
        "change": live.get("/api/learning/adaptation", tasks=2000),
        "audit": live.get(f"/api/tasks/{last - 40}"),
        "runs": live.get("/api/runs/compare", run=[run_id - 1, run_id])["runs"],
    }
