"""Programs that start at once: one process has the imports done and the kernels loaded, and each is a fork of it.

A service spends most of its start on what is the same for every test. What is forked is a process like any other: it
has an environment, a folder, an output and an exit status of its own, and can be interrupted and killed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Fork", "main"]

_ROOT = Path(__file__).resolve().parents[1]
_LOOK_AGAIN_S = 0.01
# What a service imports, much of it only when it is first needed.
_IMPORTED = (
    "hybrid_ml_scheduler.cli.commands.serve",
    "hybrid_ml_scheduler.api.app",
    "aiosqlite",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "uvloop",
)


class Fork:
    """A program that was forked; it is steered as one that `subprocess.Popen` has started."""

    def __init__(self, program: str, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> None:
        order = {"program": program, "words": list(words), "cwd": str(cwd), "env": dict(env), "output": str(output)}
        self._forge = _forge()
        self.pid = int(self._forge.asked(order))
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit status, or nothing while it runs."""
        if self._status is None:
            self._status = self._forge.asked({"ended": self.pid})
        return self._status

    def wait(self, timeout: float) -> int:
        """The exit status, once it has ended."""
        deadline_s = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_LOOK_AGAIN_S)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal if it still runs; until its status was asked for, no other process has its number."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)


class _Forge:
    """The process that forks, as seen from here; it ends with this one."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from tests.forked import main; main()"]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._turn = threading.Lock()

    def asked(self, order: Mapping[str, Any]) -> Any:
        """The answer to an order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it; what it has forked goes on."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


@cache
def _forge() -> _Forge:
    made = _Forge()
    atexit.register(made.close)
    return made


def main() -> None:
    """Be the process that forks; in each fork, run the program that was ordered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever gives the orders decides when this ends
    _prepare()
    assert threading.active_count() == 1, "threads do not survive a fork"
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            _answer(_ended(order["ended"]))
            continue
        pid = os.fork()
        if pid == 0:
            _become(order)
            return
        _answer(pid)


def _prepare() -> None:
    """What every start would do anew."""
    for name in _IMPORTED:
        import_module(name)
    from hybrid_ml_scheduler.cli.compiling import rehearse

    rehearse()
    gc.freeze()  # no fork has to look through all this again


def _answer(value: int | None) -> None:
    print(json.dumps(value), flush=True)


def _ended(pid: int) -> int | None:
    """The exit status of a fork as `subprocess` would give it, or nothing while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(order: Mapping[str, Any]) -> None:
    """Go on as the program that was ordered."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for number, place in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(place, number)
    sys.argv = ["-c", *order["words"]]
    exec(order["program"], {"__name__": "__main__"})
