"""Write the fixtures of the dashboard's unit tests: what a real service said during a short race.

Run it from the repository with `python dashboard/scripts/make_fixtures.py`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "dashboard" / "tests" / "fixtures"
sys.path.insert(0, str(ROOT))

from tests.api.service import LiveService, service  # noqa: E402  (the repository must be on the path first)

STRATEGIES = "round_robin,greedy,hybrid_ml,oracle,earliest_finish"
ENOUGH_UPDATES = 8


async def listened(live: LiveService) -> list[dict[str, Any]]:
    """Every message of a connection until enough updates and a notification have come; the workload shifts midway."""
    heard: list[dict[str, Any]] = []
    async with connect(live.url.replace("http", "ws") + "/ws", max_size=None) as socket:
        while True:
            heard.append(json.loads(await socket.recv()))
            kinds = [message["type"] for message in heard]
            if kinds.count("simulation_update") == 3 and kinds[-1] == "simulation_update":
                live.client.patch("/api/simulation", json={"workload": "cpu_friendly"})
            if kinds.count("simulation_update") >= ENOUGH_UPDATES and "notification" in kinds:
                return heard


def main() -> None:
    """Run a short race and keep what it said."""
    FIXTURES.mkdir(parents=True, exist_ok=True)
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_SPEED": "60", "HMS_SEED": "7"}
    with tempfile.TemporaryDirectory() as folder, service(Path(folder), environment) as live:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] >= 150)
        messages = asyncio.run(listened(live))
        live.post("/api/simulation/pause")
        live.wait(lambda status: status["backlog_rows"] == 0)
        last = live.status()["last_task_id"]
        keep("messages", messages)
        keep("stats", live.get("/api/stats", window=200))
        keep("ledger", live.get("/api/history/ledger", limit=20))
        keep("trend", live.get("/api/history/trend", points=20))
        keep("models", live.get("/api/models", limit=20))
        keep("audit", live.get(f"/api/tasks/{last - 10}"))
        keep("strategies", live.get("/api/strategies"))
        keep("presets", live.get("/api/presets"))


def keep(name: str, value: Any) -> None:
    """Write one fixture."""
    path = FIXTURES / f"{name}.json"
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
