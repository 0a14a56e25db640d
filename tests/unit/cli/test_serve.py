"""What `hms serve` hands on to the service, without one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_ml_scheduler.api import server
from hybrid_ml_scheduler.cli.compiling import rehearse
from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.settings import Settings


@pytest.fixture(autouse=True)
def _same_switching() -> Iterator[None]:
    before_s = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before_s)


@pytest.mark.parametrize("flags", [[], ["--no-start"], ["--new-run"], ["--new-run", "--no-start"], ["--start"]])
def test_the_first_run_is_begun_unless_that_is_refused_and_another_only_if_it_is_asked_for(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[bool, bool]] = []

    def note(settings: Settings, listener: socket.socket, *, new_run: bool = False, plan: Plan | None = None) -> None:
        listener.close()
        assert plan is None
        begun.append((new_run, settings.autostart))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "run_server", note)
    assert run(["serve", "--port", "0", *flags]) == 0
    assert begun == [("--new-run" in flags, "--no-start" not in flags)]


@pytest.mark.parametrize(
    "flags", [["--start"], ["--no-start"], ["--new-run"], ["--scheduler", "greedy"], ["--speed", "5"]]
)
def test_one_that_follows_is_not_told_how_to_race(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    assert run(["serve", "--follow", *flags]) == 2
    assert "runs no race" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_service_knows_whether_its_engine_is_compiled_before_it_answers(tmp_path: Path) -> None:
    program = "from hybrid_ml_scheduler.cli.compiling import is_service_compiled; print(is_service_compiled())"
    rehearse()
    for cache, found in (({}, "True"), ({"NUMBA_CACHE_DIR": str(tmp_path)}, "False")):
        environment = {**os.environ, **cache}
        said = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert (said.stdout.strip(), said.stderr) == (found, "")
