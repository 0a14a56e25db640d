"""One built dashboard, one service, one browser for all tests; a fresh profile for each."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.api.conftest import forked_services
from tests.api.service import PATIENCE_S, LiveService, service
from tests.e2e.browser import Tab, home, launched, tab_beside
from tests.e2e.truth import snapshot

__all__ = ["forked_services"]

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "dashboard"
PAGE = ROOT / "src" / "hybrid_ml_scheduler" / "api" / "static" / "index.html"
PLUGIN = f"{Path(__file__).with_name('plugin_strategy.py')}:LastInLine"
Place = dict[str, Any]
STRATEGIES = f"round_robin,greedy,hybrid_ml,rl_agent,oracle,{PLUGIN}"


def _is_stale() -> bool:
    """Whether a source file is newer than the build."""
    if not PAGE.is_file():
        return True
    built = PAGE.stat().st_mtime
    sources = [DASHBOARD / "index.html", DASHBOARD / "vite.config.ts", *(DASHBOARD / "src").rglob("*.*")]
    return any(source.stat().st_mtime > built for source in sources)


@pytest.fixture(scope="session", autouse=True)
def built_dashboard() -> None:
    """The dashboard as the present sources make it."""
    if not _is_stale():
        return
    npm = shutil.which("npm")
    if npm is None or not (DASHBOARD / "node_modules").is_dir():
        pytest.fail("The dashboard is not built: run `npm ci && npm run build` in dashboard/.", pytrace=False)
    subprocess.run([npm, "run", "build"], cwd=DASHBOARD, check=True, capture_output=True, env=dict(os.environ))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real browser; it ends with these tests, because its event loop would stand in the way of other ones."""
    with sync_playwright() as playwright:
        opened = launched(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def race(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A race with a plugin among the strategies and some history."""
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_SPEED": "100", "HMS_SEED": "11"}
    with service(tmp_path_factory.mktemp("race"), environment) as live:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] >= 300)
        live.wait(lambda status: status["learning"]["hybrid_ml"]["updates"] >= 2)
        live.post("/api/simulation/pause")
        yield live


@pytest.fixture
def running(race: LiveService) -> Iterator[LiveService]:
    """The race, running at a pace a person can watch, whatever the test before has left behind.

    Between such tests it stands still, so that its length does not depend on how long the others take.
    """
    race.post("/api/simulation/start", {"speed": 20, "workload": "mixed"})
    yield race
    race.post("/api/simulation/pause")


@pytest.fixture
def standing(race: LiveService, stood: list[Place]) -> Iterator[LiveService]:
    """The race, paused with everything stored and proven: nothing moves while it is compared.

    It stands where it stood for the test before, if nobody has let it run since.
    """
    if stood != [_place(race)]:
        race.post("/api/simulation/start", {"speed": 20, "workload": "mixed"})
        before = race.status()["last_task_id"]
        race.wait(lambda status: status["last_task_id"] > before + 1)  # so the last one was explained, as slow ones are
        tasks = race.held("pause")["tasks_processed"]
        deadline_s = time.monotonic() + PATIENCE_S
        while snapshot(race)["update"]["bound"]["tasks"] != tasks:  # renewed every two seconds
            assert time.monotonic() < deadline_s, "the bound was not renewed"
            time.sleep(0.1)
        stood[:] = [_place(race)]
    yield race
    race.post("/api/simulation/pause")


def _place(live: LiveService) -> Place:
    """Where the race is and how it would go on."""
    status = live.status()
    return {name: status[name] for name in ("state", "run_id", "last_task_id", "speed", "workload", "schedulers")}


@pytest.fixture(scope="package")
def stood() -> list[Place]:
    """Where the race stood for the last test that wanted it to stand."""
    return []


@pytest.fixture(scope="package")
def at_home(browser: Browser, race: LiveService) -> Iterator[Page]:
    """A tab that stays open in the watchers' profile."""
    with home(browser, race.url) as page:
        yield page


@pytest.fixture
def watcher(at_home: Page, race: LiveService) -> Iterator[Tab]:
    """A tab on the race; a word on the console fails the test."""
    with tab_beside(at_home, race.url) as opened:
        yield opened
        assert opened.complaints == []
