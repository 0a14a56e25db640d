"""Debian's Chromium, and tabs that remember every complaint of the console."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, expect

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
)
PATIENCE_MS = 15_000.0
_REMEMBERED = "localStorage.setItem('hms.theme', '{theme}'); localStorage.setItem('hms.tour-seen', 'yes');"


def launched(playwright: Playwright) -> Browser:
    """Start the browser."""
    return playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))


@dataclass
class Tab:
    """A page on one service."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Page:
        """Go to a view and wait until the race is seen."""
        self.page.goto(self.url + path)
        expect(self.page.locator("[data-phase='live']")).to_be_visible(timeout=PATIENCE_MS)
        expect(self.page.locator("[data-figure='tasks-processed']")).not_to_have_text("–", timeout=PATIENCE_MS)
        return self.page

    def figure(self, name: str) -> str:
        """The text of one of the figures."""
        return self.page.locator(f"[data-figure='{name}']").first.inner_text()

    def tasks(self) -> int:
        """The counter of tasks as a person reads it."""
        return int(self.figure("tasks-processed").replace(",", ""))


@contextlib.contextmanager
def tab(browser: Browser, url: str, *, theme: str = "dark", first_visit: bool = False, **context: Any) -> Iterator[Tab]:
    """A fresh profile with one tab."""
    options = {"viewport": {"width": 1440, "height": 1000}, "reduced_motion": "reduce", **context}
    profile = browser.new_context(**options)
    if not first_visit:
        profile.add_init_script(_REMEMBERED.format(theme=theme))
    page = profile.new_page()
    page.set_default_timeout(PATIENCE_MS)
    opened = Tab(page=page, url=url)
    page.on("console", lambda line: opened.complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    try:
        yield opened
    finally:
        profile.close()
