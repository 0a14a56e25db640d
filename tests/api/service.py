"""A real service: `hms serve` in its own process, on a free loopback port."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.forked import Fork
from tests.services import free_port

# How long a machine may take for what takes a second: it tells a slow answer from none, and measures nothing.
PATIENCE_S = 300.0
CHEAP = "round_robin,random,greedy,oracle"
# Most tests are about a service, not about learning: nothing is hidden, so that figures can be computed again.
TOLD = {"HMS_WORKLOAD": "mixed", "HMS_KNOWLEDGE": "exact"}
_PROGRAM = "from hybrid_ml_scheduler.cli.main import main; main()"


class LiveService:
    """A service that can be started, stopped, killed and started again on the same data."""

    # Tests have it forked from a process that has the imports done; whoever measures starts it as a user does.
    forks = False

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, *, before: str = "") -> None:
        self.folder = folder
        self._program = before + _PROGRAM  # what a measurement changes inside the process comes first
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # Tests begin their runs themselves.
        usual = {"HMS_SCHEDULERS": CHEAP, "HMS_RATE_LIMIT": "1000000/second", "HMS_AUTOSTART": "false", **TOLD}
        self.environment = {**usual, **(environment or {})}
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE_S)
        self._process: subprocess.Popen[bytes] | Fork | None = None

    def launch(self) -> subprocess.Popen[bytes] | Fork:
        """Start the process without waiting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "LANG", "NUMBA_CACHE_DIR", "PYTHONPATH")
            if name in os.environ
        }
        words = ["serve", "--port", str(self.port)]
        environment = {**kept, **self.environment}
        said = self.folder / "output.txt"
        if self.forks:
            self._process = Fork(self._program, words, cwd=self.folder, env=environment, output=said)
            return self._process
        command = [sys.executable, "-c", self._program, *words]
        with said.open("ab") as output:
            self._process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output, stderr=output)
        return self._process

    def start(self) -> LiveService:
        """Start and wait until it answers."""
        process = self.launch()
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None, f"the service ended: {self.output[-2000:]}"
            assert time.monotonic() < deadline_s, f"the service did not answer: {self.output[-2000:]}"
            with contextlib.suppress(httpx.TransportError):
                self.client.get("/api/status")
                return self
            time.sleep(0.02)

    def stop(self) -> int:
        """End it as a person would, with Ctrl+C; returns the exit status."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        code = self._process.wait(PATIENCE_S)
        self._process = None
        return code

    def close(self) -> None:
        """End it for certain and give back the client."""
        try:
            self.stop()
        finally:
            self.kill()
            self.client.close()

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            self._process = None

    @property
    def output(self) -> str:
        """All it has said so far."""
        return (self.folder / "output.txt").read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def get(self, path: str, **query: Any) -> Any:
        """Ask for JSON that must be there."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, status: int = 200, **query: Any) -> Any:
        """Give a command that must succeed."""
        answer = self.client.post(path, json=body, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    def status(self) -> Any:
        """Say where the race stands."""
        return self.get("/api/status")

    def health(self, wanted: str, part: str | None = None) -> httpx.Response:
        """Wait until a part, or the whole, is as wanted, and return that answer; health must always answer."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            answer = self.client.get("/api/health")
            assert answer.status_code in (200, 503)
            found = answer.json()
            if (found[part] if part else found)["status"] == wanted:
                return answer
            assert time.monotonic() < deadline_s, answer.text
            time.sleep(0.05)

    def held(self, how: str = "stop") -> Any:
        """Stop or pause the race, wait until every row is stored, and return the status: nothing moves any more."""
        self.post(f"/api/simulation/{how}")
        return self.wait(lambda status: status["backlog_rows"] == 0)

    def wait(self, holds: Callable[[Any], bool], within_s: float = PATIENCE_S) -> Any:
        """Wait until the status is as wanted, and return it."""
        deadline_s = time.monotonic() + within_s
        while not holds(status := self.status()):
            assert time.monotonic() < deadline_s, f"it did not come true in time: {status}"
            time.sleep(0.03)  # asking more often would take the service's time
        return status


@contextlib.contextmanager
def service(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[LiveService]:
    """A running service, ended for certain."""
    live = LiveService(folder, environment)
    try:
        yield live.start()
    finally:
        live.close()
