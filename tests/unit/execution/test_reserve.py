"""Tasks that are not decided yet: none overtakes those that wait, and a device with room gets what gains most by it."""

from __future__ import annotations

from hybrid_ml_scheduler.execution.devices import Device, places
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer, strategy_of
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.runs.pinned import Pinned, Switching
from hybrid_ml_scheduler.execution.work import Work
from tests.unit.execution.samples import square

CPU_WORKERS = 15


def crowd() -> tuple[Placer, Reserve]:
    """Fifteen CPU workers and a device that is twenty times as fast as one of them."""
    node = places([Device(name="cpu", workers=CPU_WORKERS), Device(name="vector")])
    durations = LearnedDurations(["cpu", "vector"])
    durations.learn([("square", device, 1.0, s) for device, s in (("cpu", 0.1), ("vector", 0.005))] * 8)
    placer = Placer(strategy_of("earliest_device"), node, durations)
    return placer, Reserve(placer)


def offered(placer: Placer, reserve: Reserve, numbers: range) -> list[Work]:
    """Tasks come one after another; those that are promised to a place at once."""
    return [work for number in numbers if (work := _offered_one(placer, reserve, number)).place >= 0]


def _offered_one(placer: Placer, reserve: Reserve, number: int, kind: str = "square") -> Work:
    work = Work(HybridFuture(), square, (), {})
    work.kind, work.size, work.task_id, work.options = kind, 1.0, number, square.chosen
    work.place = -1
    chosen = reserve.offer(work, 0.0)
    if chosen is not None:
        work.place = chosen.place
        placer.loads[work.place].add(work)
    return work


def test_a_burst_is_not_promised_to_the_slower_device_while_the_faster_one_has_room() -> None:
    placer, reserve = crowd()
    first = offered(placer, reserve, range(500))
    promised = [load.unfinished for load in placer.loads]
    assert max(promised) <= 100
    assert len(reserve) == 500 - sum(promised) > 300
    for work in first:
        if work.place == 1:
            placer.loads[1].remove(work)  # it has ended, and nobody has decided about another one yet
    assert offered(placer, reserve, range(500, 2000)) == []
    assert [load.unfinished for load in placer.loads] == [promised[0], 0]
    assert reserve.asks_on_arrival
    found = reserve.refill(0.0)
    assert {chosen.place for _, chosen in found} == {1}
    assert [work.task_id for work, _ in found] == sorted(work.task_id for work, _ in found)
    assert not reserve.asks_on_arrival


def two_kinds(much: list[tuple[str, float]]) -> tuple[Placer, Reserve, list[Work]]:
    """A hundred tasks each of a kind that gains 5 times by the device, and of one of which `much` is measured."""
    node = places([Device(name="cpu", workers=2), Device(name="vector")])
    durations = LearnedDurations(["cpu", "vector"])
    durations.learn([("little", device, 1.0, s) for device, s in (("cpu", 0.1), ("vector", 0.02))] * 8)
    durations.learn([("much", device, 1.0, s) for device, s in much] * 8)
    placer = Placer(strategy_of("earliest_device"), node, durations)
    reserve = Reserve(placer)
    works = [_offered_one(placer, reserve, number, "little" if number % 2 else "much") for number in range(200)]
    return placer, reserve, [work for work in works if work.place >= 0]


def ended(placer: Placer, works: list[Work], seconds: float, cold: bool = False) -> None:
    for work in works:
        placer.loads[work.place].remove(work)
        placer.learn(work, seconds, 1.0, cold)


def test_a_faster_device_gets_what_gains_most_however_much_others_spend_on_another_kind() -> None:
    placer, reserve, running = two_kinds([("cpu", 0.4), ("vector", 0.01)])
    for _ in range(10):
        ended(placer, [work for work in running if work.place == 0], 0.1)  # the CPU spends its time on little gain
        ended(placer, [work for work in running if work.place == 1], 0.01)
        running = [work for work, _ in reserve.refill(1.0)]
        assert {work.kind for work in running if work.place == 1} == {"much"}
        assert {work.kind for work in running if work.place == 0} == {"little"}


def test_a_kind_that_only_warmed_up_on_a_device_is_to_be_tried_there_once_more() -> None:
    node = places([Device(name="cpu"), Device(name="vector")])
    durations = LearnedDurations(["cpu", "vector"])
    durations.learn([("square", "cpu", 1.0, 0.4)] * 8)
    placer = Placer(strategy_of("earliest_device"), node, durations)
    reserve, to_try = Reserve(placer), []
    for number, cold in enumerate((True, False)):
        work = _offered_one(placer, reserve, number)
        assert work.place == 1  # it is hoped to be faster
        to_try.append(placer.hoped_s(work)[1])  # one is under way
        ended(placer, [work], 0.3 if cold else 0.01, cold)
        to_try.append(placer.hoped_s(work)[1])
    assert to_try == [frozenset(), frozenset({1}), frozenset(), frozenset()]


def test_a_pinned_task_goes_where_the_pin_was_when_it_was_submitted_however_many_wait() -> None:
    node = places([Device(name="cpu", workers=CPU_WORKERS), Device(name="vector")])
    pinned = Pinned(0)
    placer = Placer(Switching(pinned), node, LearnedDurations(["cpu", "vector"]))
    reserve = Reserve(placer)
    assert len(offered(placer, reserve, range(500))) == 500
    pinned.place = 1
    assert [work.place for work in offered(placer, reserve, range(500, 510))] == [1] * 10
    assert not reserve
