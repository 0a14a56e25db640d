"""Both caches keep the same promises; Redis also through an outage."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.storage import Cache, open_cache
from hybrid_ml_scheduler.storage.cache import Subscription
from tests import services
from tests.waiting import within

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def patient_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine Redis may take more than its second; only an outage that a test makes must count as one."""
    monkeypatch.setattr("hybrid_ml_scheduler.storage.cache.redis._TIMEOUT_S", PATIENCE_S)


async def heard(listener: Subscription) -> bytes:
    """The next message, which must come."""
    return await asyncio.wait_for(listener.get(), PATIENCE_S)


@pytest.fixture(params=["local", "redis"])
async def cache(request: pytest.FixtureRequest) -> AsyncIterator[Cache]:
    opened = open_cache(None if request.param == "local" else request.getfixturevalue("redis_url"))
    yield opened
    await opened.close()


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex


async def test_a_value_lives_as_long_as_it_was_told(cache: Cache, key: str) -> None:
    assert await cache.get(key) is None
    await cache.set(key, b"\x00\xffvalue", ttl_s=PATIENCE_S)
    assert await cache.get(key) == b"\x00\xffvalue"
    await cache.set(key, b"brief", ttl_s=0.15)
    await asyncio.sleep(0.2)
    assert await cache.get(key) is None


async def test_a_value_can_be_replaced_and_deleted(cache: Cache, key: str) -> None:
    await cache.set(key, b"1", ttl_s=PATIENCE_S)
    await cache.set(key, b"2", ttl_s=PATIENCE_S)
    assert await cache.get(key) == b"2"
    await cache.delete(key)
    await cache.delete(key)
    assert await cache.get(key) is None


async def test_counts_go_up_within_a_window_and_begin_again_after_it(cache: Cache, key: str) -> None:
    counts = [await cache.count(key, window_s=PATIENCE_S) for _ in range(3)]
    assert [count.value for count in counts] == [1, 2, 3]
    assert all(0 < count.reset_s <= PATIENCE_S for count in counts)
    for _ in range(2):
        assert (await cache.count(key + "brief", window_s=0.2)).value == 1
        await asyncio.sleep(0.25)


async def test_concurrent_counts_lose_nothing(cache: Cache, key: str) -> None:
    counts = await asyncio.gather(*(cache.count(key, window_s=PATIENCE_S) for _ in range(50)))
    assert sorted(count.value for count in counts) == list(range(1, 51))


async def test_every_listener_gets_every_message_of_its_channel_only(cache: Cache, key: str) -> None:
    async with cache.subscribe(key) as one, cache.subscribe(key) as two, cache.subscribe(key + "x") as other:
        for number in range(5):
            await cache.publish(key, b"%d" % number)
        await cache.publish(key + "x", b"other")
        for listener in (one, two):
            assert [await heard(listener) for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        assert await heard(other) == b"other"


async def test_a_slow_listener_loses_the_oldest_and_knows_how_many(cache: Cache, key: str) -> None:
    async with cache.subscribe(key, capacity=2) as slow, cache.subscribe(key, capacity=100) as quick:
        for number in range(10):
            await cache.publish(key, b"%d" % number)
        assert [await heard(quick) for _ in range(10)][-1] == b"9"
        async with within(PATIENCE_S):
            while slow.dropped < 8:  # its messages come on a connection of its own
                await asyncio.sleep(0.01)
        assert [await heard(slow), await heard(slow)] == [b"8", b"9"]
        assert slow.dropped == 8


async def test_a_subscription_can_be_iterated(cache: Cache, key: str) -> None:
    async with cache.subscribe(key) as listener:
        await cache.publish(key, b"hello")
        async for message in listener:
            assert message == b"hello"
            break


async def test_a_listener_that_left_gets_nothing(cache: Cache, key: str) -> None:
    async with cache.subscribe(key) as listener:
        pass
    await cache.publish(key, b"late")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(listener.get(), 0.1)


async def test_a_healthy_cache_says_so(cache: Cache) -> None:
    health = await cache.ping()
    assert health.ok
    assert health.latency_s is not None


async def test_values_and_messages_pass_between_two_connections(redis_url: str, key: str) -> None:
    one, two = open_cache(redis_url), open_cache(redis_url)
    async with two.subscribe(key) as listener:
        await one.set(key, b"shared", ttl_s=PATIENCE_S)
        assert await two.get(key) == b"shared"
        await one.publish(key, b"news")
        assert await heard(listener) == b"news"
        assert (await one.count(key, window_s=PATIENCE_S)).value == 1
        assert (await two.count(key, window_s=PATIENCE_S)).value == 2
    await one.close()
    await two.close()


async def test_who_belongs_to_different_names_shares_nothing_in_one_redis(redis_url: str, key: str) -> None:
    mine, other, like_mine = (open_cache(redis_url) for _ in range(3))
    for cache, name in ((mine, "a"), (other, "b"), (like_mine, "a")):
        cache.belong_to(name)
    async with other.subscribe(key) as stranger, like_mine.subscribe(key) as listener:
        await mine.set(key, b"mine", ttl_s=PATIENCE_S)
        assert (await other.get(key), await like_mine.get(key)) == (None, b"mine")
        await other.delete(key)
        assert await mine.get(key) == b"mine"
        assert (await mine.count(key, window_s=PATIENCE_S)).value == 1
        assert (await other.count(key, window_s=PATIENCE_S)).value == 1
        assert (await like_mine.count(key, window_s=PATIENCE_S)).value == 2
        await mine.publish(key, b"news")
        assert await heard(listener) == b"news"
        await other.publish(key, b"other")
        assert await heard(stranger) == b"other"
    for cache in (mine, other, like_mine):
        await cache.close()


async def test_without_redis_each_process_helps_itself_and_redis_is_found_again() -> None:
    with services.redis() as server:
        cache = open_cache(server.url)
        async with cache.subscribe("news") as listener:
            await cache.publish("news", b"before")
            assert await heard(listener) == b"before"
            server.kill()
            health = await cache.ping()
            assert not health.ok
            assert health.latency_s is None
            assert "away" in health.sentence
            await cache.set("key", b"local", ttl_s=PATIENCE_S)
            assert await cache.get("key") == b"local"
            assert [(await cache.count("c", window_s=PATIENCE_S)).value for _ in range(3)] == [1, 2, 3]
            await cache.publish("news", b"during")
            assert await heard(listener) == b"during"
            server.start()
            assert (await cache.ping(timeout_s=PATIENCE_S)).ok
            await heard_from_another(server.url, listener)
            await cache.set("key", b"shared", ttl_s=PATIENCE_S)
            assert await cache.get("key") == b"shared"
        await cache.close()


@contextlib.asynccontextmanager
async def deaf_server() -> AsyncIterator[str]:
    """A server that takes every connection and never says a word."""
    connections: list[asyncio.StreamWriter] = []

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    finally:
        for writer in connections:
            writer.transport.abort()
        server.close()


async def test_a_redis_that_hangs_keeps_nobody_waiting_once_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_ml_scheduler.storage.cache.redis._TIMEOUT_S", 1.0)
    monkeypatch.setattr("hybrid_ml_scheduler.storage.cache.redis._RETRY_S", 0.01)
    loop = asyncio.get_running_loop()
    async with deaf_server() as url:
        cache = open_cache(url)
        begin_s = loop.time()
        assert (await cache.count("c", window_s=PATIENCE_S)).value == 1
        assert loop.time() - begin_s < 1.9, "one that hangs is not asked a second time"
        waits_s = []
        for number in range(60):  # long enough for several more tries
            begin_s = loop.time()
            assert (await cache.count("c", window_s=PATIENCE_S)).value == number + 2
            waits_s.append(loop.time() - begin_s)
            await asyncio.sleep(0.02)
        # Whoever waited for a server that hangs would wait for a second, each time; a busy machine has a few moments.
        assert sum(wait_s >= 0.8 for wait_s in waits_s) <= 2
        await cache.close()


async def test_redis_is_found_again_without_anybody_asking_for_its_health(key: str) -> None:
    with services.redis() as server:
        cache, another = open_cache(server.url), open_cache(server.url)
        server.kill()
        await cache.set(key, b"local", ttl_s=PATIENCE_S)
        server.start()
        await another.set(key, b"shared", ttl_s=PATIENCE_S)
        async with within(PATIENCE_S):
            while await cache.get(key) != b"shared":
                await asyncio.sleep(0.01)
        await cache.close()
        await another.close()


@contextlib.asynccontextmanager
async def way_to(server: services.LocalServer) -> AsyncIterator[tuple[str, list[asyncio.Task[None]]]]:
    """A way to a server that can be cut without a word: whoever is on it then hears nothing and is told nothing."""
    carrying: list[asyncio.Task[None]] = []
    ends: list[asyncio.StreamWriter] = []

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            writer.write(data)

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", server.port)
        ends.extend((writer, far_writer))
        carrying.extend(map(asyncio.create_task, (carry(reader, far_writer), carry(far_reader, writer))))

    door = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield server.url.replace(str(server.port), str(door.sockets[0].getsockname()[1])), carrying
    finally:
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)
        for writer in ends:
            writer.transport.abort()
        door.close()


async def test_a_subscription_that_died_without_a_word_is_noticed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_ml_scheduler.storage.cache.redis._POLL_S", 0.1)
    with services.redis() as server:
        async with way_to(server) as (url, carrying):
            cache, another = open_cache(url), open_cache(server.url)
            async with cache.subscribe("news") as listener:
                await another.publish("news", b"before")
                assert await heard(listener) == b"before"
                await asyncio.sleep(0.5)  # silence alone is no reason to leave: it is asked, and answers
                assert len(carrying) == 2
                for task in carrying:
                    task.cancel()
                await heard_from_another(server.url, listener)
            await cache.close()
            await another.close()


async def heard_from_another(url: str, listener: Subscription) -> None:
    """Speak through another connection until the listener, which subscribes again by itself, hears it."""
    another = open_cache(url)
    async with within(PATIENCE_S):
        message = b""
        while message != b"after":
            await another.publish("news", b"after")
            with contextlib.suppress(asyncio.TimeoutError):
                message = await asyncio.wait_for(listener.get(), 0.2)
    await another.close()


def test_a_wrong_redis_address_is_refused_in_one_sentence_without_its_secret() -> None:
    with pytest.raises(ConfigurationError, match="Redis URL") as caught:
        open_cache("rediss3://:geheim@somewhere")
    assert "geheim" not in str(caught.value)
