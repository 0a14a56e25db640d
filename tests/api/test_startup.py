"""A start that cannot succeed ends at once with one sentence and exit code 2."""

from __future__ import annotations

import asyncio
import re
import socket
from pathlib import Path

import pytest

from hybrid_ml_scheduler.storage import ownership
from tests.api.service import PATIENCE_S, LiveService, service

# One of each kind; tests/unit/api/test_settings.py has the rest without a process.
SENTENCES = [
    ({"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL"),
    ({"NUM_GPUS": "many"}, "NUM_GPUS"),
    ({"ENVIRONMENT": "production"}, "API_KEY"),
    ({"HMS_PROT": "9"}, "HMS_PORT"),
    ({"HMS_WORKLOAD": "mixd"}, "mixed"),
    ({"HMS_SCHEDULERS": "greedy,nobody"}, "nobody"),
    ({"HMS_SCHEDULERS": "greedy,greedy"}, "greedy"),
    ({"HMS_DATA_DIR": "/proc/nowhere"}, "/proc/nowhere"),
    ({"HMS_LOG_DIR": "/proc/nowhere"}, "/proc/nowhere"),
]


def refusal(live: LiveService) -> str:
    """Launch what must fail, and return the one line it says."""
    live.client.close()
    try:
        code = live.launch().wait(PATIENCE_S)
    finally:
        live.kill()
    lines = live.output.strip().splitlines()
    assert code == 2, live.output
    assert "Traceback" not in live.output
    assert lines[-1].startswith("hms: ")
    return lines[-1]


@pytest.mark.parametrize(("environment", "named"), SENTENCES, ids=range(len(SENTENCES)))
def test_a_wrong_variable_is_named(tmp_path: Path, environment: dict[str, str], named: str) -> None:
    assert named in refusal(LiveService(tmp_path, environment))


def test_a_misspelt_variable_in_the_env_file_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("NUM_GPUS=2\nRETRAIN_INTERVALL=5\n")
    sentence = refusal(LiveService(tmp_path))
    assert ".env" in sentence
    assert "RETRAIN_INTERVAL" in sentence


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    live = LiveService(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", live.port))
        taken.listen()
        assert str(live.port) in refusal(live)


def test_a_database_that_another_service_owns_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"

    async def refused() -> str:
        async with ownership(url):
            return await asyncio.to_thread(refusal, LiveService(tmp_path, {"DATABASE_URL": url}))

    sentence = asyncio.run(refused())
    assert str(tmp_path / "history.db") in sentence
    assert "in use by another service" in sentence


def test_an_unreachable_database_is_named_with_how_long_it_was_tried(tmp_path: Path) -> None:
    live = LiveService(
        tmp_path, {"DATABASE_URL": "postgresql://me:hidden@127.0.0.1:1/db", "HMS_CONNECT_TIMEOUT_S": "1"}
    )
    sentence = refusal(live)
    assert "127.0.0.1:1" in sentence
    assert re.search(r"tried for \d+\.\d s", sentence), sentence
    assert "hidden" not in live.output


@pytest.fixture
def as_a_user_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has nothing done beforehand."""
    monkeypatch.setattr(LiveService, "forks", False)


@pytest.mark.usefixtures("as_a_user_starts_it")
def test_a_good_start_names_the_address_the_database_and_how_to_stop(tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy"}) as live:
        said = live.output
        assert live.url in said
        assert "data/hybrid_scheduler.db" in said
        assert "Ctrl+C" in said
        assert live.stop() == 0
    assert (tmp_path / "data" / "hybrid_scheduler.db").is_file()


def test_the_env_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("NUM_GPUS=2\n")
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy"}) as live:
        assert live.post("/api/simulation/start")["num_gpus"] == 2


@pytest.mark.usefixtures("as_a_user_starts_it")
def test_the_first_start_begins_a_run_and_the_next_one_goes_on_with_it(tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy", "HMS_AUTOSTART": "true"}) as live:
        live.wait(lambda now: now["tasks_processed"] > 2)
        live.post("/api/simulation/pause")
        live.stop()
        live.start()
        status = live.status()
        assert (status["state"], status["run_id"]) == ("paused", 1)
