"""The system's Chromium, and tabs that remember every complaint of the console."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

T = TypeVar("T")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # small in containers, and a tab that fills it crashes
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
)
# How long a machine may take for what takes a moment: it tells a slow page from a wrong one, and measures nothing.
PATIENCE_MS = 60_000.0
expect.set_options(timeout=PATIENCE_MS)
_REMEMBERED = "localStorage.setItem('hms.theme', '{theme}'); localStorage.setItem('hms.tour-seen', 'yes');"


# Nothing has moved or changed its colour for half a second and twenty frames.
_SETTLED = """() => {
    const changing = document.getAnimations().some((one) => one instanceof CSSTransition);
    const places = [...document.querySelectorAll("main section")].map((one) => one.getBoundingClientRect());
    const seen = places.map((at) => [at.x, at.y + scrollY, at.width, at.height].map(Math.round)).join(";");
    const same = !changing && window.settling?.seen === seen;
    const known = same ? window.settling : { seen, since: performance.now(), frames: 0 };
    known.frames += 1;
    window.settling = known;
    return known.frames > 20 && performance.now() - known.since > 500;
}"""


def chromium() -> str:
    """The browser that scripts/setup.sh finds or installs."""
    names = (os.environ.get("HMS_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    return found or pytest.fail("There is no Chromium: install it or set HMS_CHROMIUM.", pytrace=False)


def launched(playwright: Playwright) -> Browser:
    """Start the browser."""
    return playwright.chromium.launch(
        executable_path=chromium(), headless=True, args=list(FLAGS), timeout=3 * PATIENCE_MS
    )


def settled(page: Page) -> Page:
    """The page once nothing on it moves any more."""
    page.evaluate("() => { window.settling = undefined }")
    page.wait_for_function(_SETTLED, timeout=PATIENCE_MS)
    return page


def eventually(page: Page, look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """Look again and again, until what is found is as wanted."""
    deadline_s = time.monotonic() + PATIENCE_MS / 1000
    while not holds(found := look()):
        assert time.monotonic() < deadline_s, f"it did not come true in time: {found!r}"
        page.wait_for_timeout(50)
    return found


@dataclass
class Tab:
    """A page on one service."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Page:
        """Go to a view and wait until the race is seen."""
        self.page.goto(self.url + path)
        expect(self.page.locator("[data-phase='live']")).to_be_visible()
        expect(self.page.locator("[data-figure='tasks-processed']")).not_to_have_text("–")
        return self.page

    def figure(self, name: str) -> str:
        """The text of one of the figures."""
        return self.page.locator(f"[data-figure='{name}']").first.inner_text()

    def tasks(self) -> int:
        """The counter of tasks as a person reads it."""
        return int(self.figure("tasks-processed").replace(",", ""))


def profile(browser: Browser, *, theme: str = "dark", first_visit: bool = False, **options: Any) -> BrowserContext:
    """A fresh profile, of somebody who has been here before unless it is the first visit."""
    made = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, "reduced_motion": "reduce", **options})
    if not first_visit:
        made.add_init_script(_REMEMBERED.format(theme=theme))
    return made


def opened_in(profile: BrowserContext, url: str) -> Tab:
    """A new tab in a profile."""
    page = profile.new_page()
    page.set_default_timeout(PATIENCE_MS)
    opened = Tab(page=page, url=url)
    page.on("console", lambda line: opened.complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    return opened


@contextlib.contextmanager
def home(browser: Browser, url: str) -> Iterator[Page]:
    """A tab that stays open in a profile of its own: a browser keeps what it has loaded and compiled."""
    made = profile(browser)
    page = made.new_page()
    page.goto(f"{url}/favicon.svg")
    yield page
    made.close()


@contextlib.contextmanager
def tab_beside(stays: Page, url: str) -> Iterator[Tab]:
    """A tab in the profile of one that stays open; it remembers nothing of others before it."""
    stays.evaluate("localStorage.clear()")
    opened = opened_in(stays.context, url)
    try:
        yield opened
    finally:
        opened.page.close()


@contextlib.contextmanager
def tab(browser: Browser, url: str, **options: Any) -> Iterator[Tab]:
    """A fresh profile with one tab."""
    made = profile(browser, **options)
    try:
        yield opened_in(made, url)
    finally:
        made.close()
