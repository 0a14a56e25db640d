"""Tasks that are not decided yet: none overtakes those that wait, and a device with room gets what gains most by it."""

from __future__ import annotations

from hybrid_ml_scheduler.execution.devices import Device, places
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer, strategy_of
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.work import Work
from tests.unit.execution.samples import square

CPU_WORKERS = 15


def crowd() -> tuple[Placer, Reserve]:
    """Fifteen CPU workers and a device that is twenty times as fast as one of them."""
    node = places([Device(name="cpu", workers=CPU_WORKERS), Device(name="vector")])
    durations = LearnedDurations(["cpu", "vector"])
    durations.learn([("square", device, 1.0, s) for device, s in (("cpu", 0.1), ("vector", 0.005))] * 8)
    placer = Placer(strategy_of("hybrid_ml"), node, durations)
    return placer, Reserve(placer)


def offered(placer: Placer, reserve: Reserve, numbers: range) -> list[Work]:
    """Tasks come one after another; those that are promised to a place at once."""
    return [work for number in numbers if (work := _offered_one(placer, reserve, number)).place >= 0]


def _offered_one(placer: Placer, reserve: Reserve, number: int) -> Work:
    work = Work(HybridFuture(), square, (), {})
    work.kind, work.size, work.task_id, work.options = "square", 1.0, number, square.chosen
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
