"""One service that most tests share, and applications without a process for the rest."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.settings import Settings, load_settings
from tests.api.service import LiveService, service

TOLD_SETTINGS = {"workload": "mixed", "knowledge": "exact"}
Opener = Callable[..., contextlib.AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture(scope="package", autouse=True)
def forked_services() -> Iterator[None]:
    """Services start as forks of one process that has the imports done."""
    LiveService.forks = True
    yield
    LiveService.forks = False


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service with the embedded database that has raced a few hundred tasks; paused, so that nobody pays for it."""
    environment = {"HMS_SCHEDULERS": "round_robin,random,greedy,hybrid_ml,oracle", "HMS_SEED": "7"}
    with service(tmp_path_factory.mktemp("shared"), environment) as live:
        live.post("/api/simulation/start", {"speed": 400})
        live.wait(lambda status: status["tasks_processed"] > 300)
        live.wait(lambda status: status["learning"]["hybrid_ml"]["updates"] >= 1)
        live.post("/api/simulation/pause")
        yield live


@pytest.fixture
def running(shared: LiveService) -> Iterator[LiveService]:
    """The shared service, racing at a moderate pace, whatever the test before has left behind."""
    shared.post("/api/simulation/start", {"speed": 100, "workload": "mixed"})
    yield shared
    shared.post("/api/simulation/pause")


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Open an application in this process with settings of your own; gives a client."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():  # what somebody has set for a service of their own
        monkeypatch.delenv((field.alias or name).upper(), raising=False)

    @contextlib.asynccontextmanager
    async def opened(
        client_address: str = "127.0.0.1", new_run: bool = False, plan: Plan | None = None, **settings: object
    ) -> AsyncIterator[httpx.AsyncClient]:
        given = {"schedulers": ("greedy",), "autostart": False, **TOLD_SETTINGS, **settings}
        app = create_app(load_settings(tmp_path / "none.env", **given), new_run=new_run, plan=plan)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app=app, client=(client_address, 1), raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                yield client

    return opened
