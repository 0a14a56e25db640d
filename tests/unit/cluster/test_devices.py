"""What is believed of one queue, against an independent reckoning part by part."""

from __future__ import annotations

import pickle

import pytest

from hybrid_ml_scheduler.cluster.devices import Device
from hybrid_ml_scheduler.core.reproducible import stream

Part = tuple[float, float, float, float]
"""Start, finish, estimated seconds, and the believed moment before which the part cannot start."""


def added_up(parts: list[Part], now_s: float) -> float:
    """The believed end of a queue, with all of its parts added up again."""
    free_s = now_s
    for place, (start, _, estimate, not_before) in enumerate(part for part in parts if part[1] > now_s):
        started = place == 0 and start <= now_s
        free_s = max(free_s, start + estimate) if started else max(free_s, not_before) + estimate
    return free_s


def lucky_device() -> Device:
    device = Device(60.0)
    device.expect_noise(0.0)
    return device


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_without_gates_is_believed_to_end_when_its_parts_add_up(seed: int) -> None:
    rng, device, parts, now_s = stream(seed, "devices"), lucky_device(), list[Part](), 0.0
    for number in range(300):
        now_s += float(rng.exponential(1.0))
        assert device.estimated_end_s(now_s) == pytest.approx(added_up(parts, now_s), rel=1e-12)
        estimate, start = float(rng.exponential(1.1)), max(device.free_s, now_s)
        parts.append((start, start + estimate * float(rng.lognormal(0.0, 0.5)), estimate, 0.0))
        device.append(*parts[-1], number, now_s)


def test_a_part_behind_a_late_one_keeps_the_moment_it_must_wait_for() -> None:
    device = lucky_device()
    device.append(0.0, 1000.0, 10.0, 0.0, 0, 0.0)
    device.append(1000.0, 1005.0, 5.0, 600.0, 1, 500.0)
    assert device.estimated_end_s(500.0) == 605.0


def test_asking_about_a_later_moment_leaves_the_queue_as_it_is() -> None:
    asked, unasked = lucky_device(), lucky_device()
    for device in (asked, unasked):
        device.append(0.0, 2.0, 1.0, 0.0, 0, 0.0)
        device.append(2.0, 6.0, 5.0, 0.0, 1, 0.5)
    assert asked.foreseen_end_s(3.0) == 7.0
    assert asked.foreseen_end_s(100.0) == 100.0
    assert pickle.dumps(asked.capture(0.5)) == pickle.dumps(unasked.capture(0.5))
    assert asked.estimated_end_s(1.0) == unasked.estimated_end_s(1.0) == 6.0


def test_the_recent_share_is_that_of_the_parts_within_the_window() -> None:
    device, rng, now_s, parts = Device(10.0), stream(1, "recent share"), 0.0, []
    for task_id in range(200):
        now_s += float(rng.exponential(1.0))
        start_s = max(device.free_s, now_s)
        finish_s = start_s + float(rng.exponential(0.8))
        device.append(start_s, finish_s, finish_s - start_s, 0.0, task_id, now_s)
        parts.append((start_s, finish_s))
        begin_s = max(0.0, now_s - 10.0)
        busy_s = sum(max(0.0, min(finish, now_s) - max(start, begin_s)) for start, finish in parts)
        assert device.recent_utilization(now_s) == pytest.approx(busy_s / (now_s - begin_s))
