"""Make the pictures of docs/images from a real race: `python docs/make_pictures.py`.

A service is started in a temporary folder and races; three tabs (dark, light, phone) watch it through a shift
of the workload, and then every view is taken in each of them.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT))

from hybrid_ml_scheduler.settings import Settings  # noqa: E402  (the repository must be on the path first)
from tests.api.service import LiveService, service  # noqa: E402  (the repository must be on the path first)
from tests.e2e.browser import Tab, launched, tab  # noqa: E402

# What a first visitor sees: the default race. The tests' service would have nothing hidden from its strategies.
DEFAULTS = {name: str(Settings.model_fields[name].default) for name in ("workload", "knowledge")} | {
    "schedulers": ",".join(Settings.model_fields["schedulers"].default)
}
RECOMMENDED: dict[str, Any] = {
    "workload": "mixed",
    "nodes": [{"gpu_type": kind, "gpus": count} for kind in ("t4", "l4", "a100") for count in (1, 2, 4)],
    "promise": "p95_latency < 2 s",
}
EARLY_TASKS = 1500
WATCH_S = 26.0
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 1000}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
# Nothing is on its way any more, and every chart has something in it.
DRAWN = """() => !document.querySelector('.skeleton, [aria-busy="true"]')
    && [...document.querySelectorAll('[data-markers], [role="img"]')].every((chart) =>
        chart.tagName === 'CANVAS' || chart.firstElementChild)"""
LOOKS: dict[str, dict[str, Any]] = {
    "dark": {"theme": "dark", **WIDE},
    "light": {"theme": "light", **WIDE},
    "phone": {"theme": "dark", **PHONE},
}


def go_nowhere(page: Page) -> None:
    """The race is where every tab begins."""


def go_strategy(page: Page) -> None:
    """The forest's own view."""
    page.get_by_role("link", name="Strategies", exact=True).click()
    page.get_by_role("navigation", name="Strategies").locator("a[href='/strategies/hybrid_ml']").click()


def go_agent(page: Page) -> None:
    """The agent's own view."""
    page.get_by_role("navigation", name="Strategies").locator("a[href='/strategies/rl_agent']").click()


def go_tasks(page: Page) -> None:
    """The ledger and the statistics."""
    page.get_by_role("link", name="Tasks", exact=True).click()


def go_audit(page: Page) -> None:
    """The decisions for one task."""
    page.locator("section[aria-label='Ledger rows'] tbody tr").nth(30).click()
    expect(page.locator("li[data-strategy]").first).to_be_visible(timeout=30_000)


def go_history(page: Page) -> None:
    """The long run."""
    page.keyboard.press("Escape")
    page.get_by_role("link", name="History").click()


def go_node(page: Page) -> None:
    """Two strategies' devices side by side."""
    page.get_by_role("link", name="Node").click()


def go_learning(page: Page) -> None:
    """Who adapted, and what is believed."""
    page.get_by_role("link", name="Learning").click()


def go_runs(page: Page) -> None:
    """The stored runs."""
    page.get_by_role("link", name="Runs", exact=True).click()


def go_recommend(page: Page) -> None:
    """Which node and which policy, as the model says."""
    page.get_by_role("link", name="Recommend", exact=True).click()
    expect(page.locator("[data-answer='first']")).to_be_visible(timeout=120_000)


WAYS: dict[str, Callable[[Page], None]] = {
    "race": go_nowhere,
    "strategy": go_strategy,
    "agent": go_agent,
    "tasks": go_tasks,
    "audit": go_audit,
    "history": go_history,
    "node": go_node,
    "learning": go_learning,
    "runs": go_runs,
    "recommend": go_recommend,
}


def kept(page: Page, name: str) -> None:
    """Write one picture: the whole view on a wide screen, the first screen of a phone."""
    width = int(page.viewport_size["width"]) if page.viewport_size else 0
    if width > 1000:
        page.set_viewport_size({"width": width, "height": 1000})
    page.evaluate("window.scrollTo(0, 0)")
    page.mouse.move(0, 0)
    page.wait_for_timeout(1800)
    page.wait_for_function(DRAWN)
    if width > 1000 and not name.startswith("audit"):
        height = int(page.evaluate("document.querySelector('#root').scrollHeight"))
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(1500)
        page.wait_for_function(DRAWN)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def watched(live: LiveService) -> None:
    """Let the tabs watch, through a shift and back."""
    now = live.status()["workload"]
    back = {"workload": now["preset"], "arrival_rate": now["arrival_rate"]}
    for patch in ({"workload": "cpu_friendly"}, back):
        time.sleep(WATCH_S)
        live.client.patch("/api/simulation", json=patch)
    time.sleep(WATCH_S)


def toured(opened: Tab, name: str) -> None:
    """The second step of the tour, as a first visitor sees it."""
    page = opened.open("/")
    page.get_by_role("region", name="How to read the race").get_by_role("button", name="Next").click()
    kept(page, name)


def main() -> None:
    """Race and take the pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    environment = {f"HMS_{name.upper()}": value for name, value in DEFAULTS.items()}
    environment |= {"HMS_SPEED": "60", "HMS_SEED": "42"}
    with (
        tempfile.TemporaryDirectory() as folder,
        service(Path(folder), environment) as live,
        sync_playwright() as playwright,
        launched(playwright) as browser,
        contextlib.ExitStack() as stack,
    ):
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] >= EARLY_TASKS, within_s=240.0)
        live.client.patch("/api/simulation", json={"speed": 20})
        tabs = {look: stack.enter_context(tab(browser, live.url, **context)) for look, context in LOOKS.items()}
        for opened in tabs.values():
            opened.open("/")
        live.post("/api/recommendations", RECOMMENDED, status=202)
        watched(live)
        for name, way in WAYS.items():
            for look, opened in tabs.items():
                way(opened.page)
                kept(opened.page, f"{name}-{look}")
        with tab(
            browser, live.url, first_visit=True, color_scheme="dark", viewport={"width": 1000, "height": 800}
        ) as new:
            toured(new, "tour-dark")


if __name__ == "__main__":
    main()
