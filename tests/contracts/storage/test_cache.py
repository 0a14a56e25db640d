"""Both caches keep the same promises; Redis also through an outage."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.storage import Cache, open_cache
from tests import services


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
    await cache.set(key, b"\x00\xffvalue", ttl_s=0.15)
    assert await cache.get(key) == b"\x00\xffvalue"
    await asyncio.sleep(0.2)
    assert await cache.get(key) is None


async def test_a_value_can_be_replaced_and_deleted(cache: Cache, key: str) -> None:
    await cache.set(key, b"1", ttl_s=10)
    await cache.set(key, b"2", ttl_s=10)
    assert await cache.get(key) == b"2"
    await cache.delete(key)
    await cache.delete(key)
    assert await cache.get(key) is None


async def test_counts_go_up_within_a_window_and_begin_again_after_it(cache: Cache, key: str) -> None:
    counts = [await cache.count(key, window_s=0.2) for _ in range(3)]
    assert [count.value for count in counts] == [1, 2, 3]
    assert all(0 < count.reset_s <= 0.2 for count in counts)
    await asyncio.sleep(0.25)
    assert (await cache.count(key, window_s=0.2)).value == 1


async def test_concurrent_counts_lose_nothing(cache: Cache, key: str) -> None:
    counts = await asyncio.gather(*(cache.count(key, window_s=10) for _ in range(50)))
    assert sorted(count.value for count in counts) == list(range(1, 51))


async def test_every_listener_gets_every_message_of_its_channel_only(cache: Cache, key: str) -> None:
    async with cache.subscribe(key) as one, cache.subscribe(key) as two, cache.subscribe(key + "x") as other:
        for number in range(5):
            await cache.publish(key, b"%d" % number)
        await cache.publish(key + "x", b"other")
        for listener in (one, two):
            assert [await asyncio.wait_for(listener.get(), 2.0) for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        assert await asyncio.wait_for(other.get(), 2.0) == b"other"


async def test_a_slow_listener_loses_the_oldest_and_knows_how_many(cache: Cache, key: str) -> None:
    async with cache.subscribe(key, capacity=2) as slow, cache.subscribe(key, capacity=100) as quick:
        for number in range(10):
            await cache.publish(key, b"%d" % number)
        assert [await asyncio.wait_for(quick.get(), 2.0) for _ in range(10)][-1] == b"9"
        await asyncio.sleep(0.05)
        assert [await slow.get(), await slow.get()] == [b"8", b"9"]
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
        await one.set(key, b"shared", ttl_s=10)
        assert await two.get(key) == b"shared"
        await one.publish(key, b"news")
        assert await asyncio.wait_for(listener.get(), 2.0) == b"news"
        assert (await one.count(key, window_s=10)).value == 1
        assert (await two.count(key, window_s=10)).value == 2
    await one.close()
    await two.close()


async def test_without_redis_each_process_helps_itself_and_redis_is_found_again() -> None:
    with services.redis() as server:
        cache = open_cache(server.url)
        async with cache.subscribe("news") as listener:
            await cache.publish("news", b"before")
            assert await asyncio.wait_for(listener.get(), 2.0) == b"before"
            server.kill()
            health = await cache.ping()
            assert not health.ok
            assert "away" in health.sentence
            await cache.set("key", b"local", ttl_s=10)
            assert await cache.get("key") == b"local"
            assert [(await cache.count("c", window_s=10)).value for _ in range(3)] == [1, 2, 3]
            await cache.publish("news", b"during")
            assert await asyncio.wait_for(listener.get(), 2.0) == b"during"
            server.start()
            assert (await cache.ping()).ok
            await asyncio.sleep(1.2)
            await cache.publish("news", b"after")
            assert await asyncio.wait_for(listener.get(), 2.0) == b"after"
            await cache.set("key", b"shared", ttl_s=10)
            assert await cache.get("key") == b"shared"
        await cache.close()


def test_a_wrong_redis_address_is_refused_in_one_sentence_without_its_secret() -> None:
    with pytest.raises(ConfigurationError, match="Redis URL") as caught:
        open_cache("rediss3://:geheim@somewhere")
    assert "geheim" not in str(caught.value)
