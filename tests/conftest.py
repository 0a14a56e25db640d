"""Fixtures that every part of the suite may use."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from tests import services
from tests.order import in_stretches
from tests.waiting import within

# What is imported and collected stays to the end. Looking through it again and again for what could be let go would
# take seconds in every process: not while it is collected, and never afterwards.
gc.disable()

# A busy machine must not decide a test: no deadlines, and the same examples in every run.
# `pytest --hypothesis-profile=soak` draws other and many more examples each time.
_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("steady", max_examples=40, derandomize=True, deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("soak", max_examples=2000, deadline=None, suppress_health_check=_PATIENT)
settings.load_profile("steady")

# A shell that starts this in the background has it ignore Ctrl+C, and what a test interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak` repeats what is done a few times otherwise, for example a hundred crashes instead of three."""
    parser.addoption("--soak", action="store_true", help="repeat crash tests a hundred times")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first, those that share a service in one worker."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = in_stretches(items, [item.nodeid for item in items], workers)


def pytest_collection_finish() -> None:
    """From now on, what tests leave behind is let go as in every program, but looked for less often.

    The libraries and trees that tests build up are large; at the usual rate the search takes a tenth to a third of all
    processor time.
    """
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let reports travel between processes: what was logged may hold half a surrogate pair, which none can send."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long each step of `run_tests.sh` took, the tests among them."""
    if "STEPS" not in os.environ:
        return
    steps = Path(os.environ["STEPS"])
    lines = [line.split("\t") for line in steps.read_text(encoding="utf-8").splitlines()]
    taken = [(int(seconds), name) for seconds, name in lines]
    before_s, tests_s = taken[-1][0], time.time() - steps.stat().st_mtime  # its last line says when the tests began
    terminalreporter.section("how long each step took")
    for seconds, name in [*taken, (round(tests_s), "the tests"), (round(before_s + tests_s), "everything")]:
        terminalreporter.write_line(f"{seconds:5d} s  {name}")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """SQLAlchemy URL of a real PostgreSQL that all tests share; take `fresh_postgres_url` for an empty database."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield "postgresql+asyncpg://" + given.split("://", 1)[-1]
        return
    try:
        with services.postgres() as server:
            yield server.url
    except services.ServerUnavailable as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """URL of a real Redis that all tests share; use keys of your own."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
        return
    try:
        with services.redis() as server:
            yield server.url
    except services.ServerUnavailable as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture
def fresh_postgres_url(postgres_url: str) -> Iterator[str]:
    """SQLAlchemy URL of an empty database on the shared PostgreSQL, dropped after the test."""
    name = f"hms_{uuid.uuid4().hex}"
    administer(postgres_url, f"CREATE DATABASE {name}")
    yield postgres_url.rsplit("/", 1)[0] + "/" + name
    administer(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


def administer(sqlalchemy_url: str, statement: str) -> None:
    """Run one statement on a thread of its own, so that async tests and their loops are left alone."""

    async def execute(connection: asyncpg.Connection) -> None:
        await connection.execute(statement)

    connected_apart(sqlalchemy_url, execute)


def alone_in(sqlalchemy_url: str) -> None:
    """Wait until nobody else is at work in the database: a server finishes what a killed client had sent."""
    at_work = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend' AND state <> 'idle'"
    )

    async def wait(connection: asyncpg.Connection) -> None:
        async with within(60.0):
            while await connection.fetchval(at_work):
                await asyncio.sleep(0.01)

    connected_apart(sqlalchemy_url, wait)


def connected_apart(sqlalchemy_url: str, work: Callable[[asyncpg.Connection], Awaitable[None]]) -> None:
    """Do some work with a connection, on a thread of its own."""
    failures: list[BaseException] = []

    async def connect() -> None:
        connection = await asyncpg.connect(sqlalchemy_url.replace("+asyncpg", ""))
        try:
            await work(connection)
        finally:
            await connection.close()

    def run() -> None:
        try:
            asyncio.run(connect())
        except (OSError, asyncpg.PostgresError) as problem:
            failures.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
