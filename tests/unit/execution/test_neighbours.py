"""Who runs beside a task: found in runs that were placed as strategies do, and used by the model."""

from __future__ import annotations

import gc
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster.interference import rescale
from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.execution.runs.calibration import Calibration, Factor, read_calibration, write_calibration
from hybrid_ml_scheduler.execution.runs.kinds import sizes_named
from hybrid_ml_scheduler.execution.runs.measured_run import short_collections
from hybrid_ml_scheduler.execution.runs.measuring import repeated_ids
from hybrid_ml_scheduler.execution.runs.modelled_run import simulate
from hybrid_ml_scheduler.execution.runs.neighbours import (
    Neighbours,
    RunTimes,
    neighbours_of,
    rescale_beside,
    shares_beside,
)
from hybrid_ml_scheduler.execution.runs.placed import as_placed
from hybrid_ml_scheduler.execution.runs.study import Bench, make_strategy, stream_of_length
from hybrid_ml_scheduler.execution.work import TaskRecord

KINDS = ("sort", "parse")
SECONDS = {"cpu": {"sort": 0.01, "parse": 0.02}, "numba": {"sort": 0.004, "parse": 0.004}}


def calibration(workers: int = 4, others: int = 1) -> Calibration:
    sizes = sizes_named("small", KINDS)
    return Calibration(
        machine={"cpu": "made up", "cores": "16"},
        devices={"cpu": workers, "numba": others},
        kinds=KINDS,
        alone_s={
            device: {kind: {str(size): seconds for size in sizes[kind]} for kind, seconds in kinds.items()}
            for device, kinds in SECONDS.items()
        },
        cross={
            device: {kind: Factor(value=1.3, spread=0.0, runs=9) for kind in kinds} for device, kinds in SECONDS.items()
        },
        within={kind: Factor(value=1.2, spread=0.0, runs=9) for kind in KINDS},
        residuals={},
        gap_s=1e-4,
        delay_s=1e-4,
        drift=0.0,
    )


def test_the_shares_of_those_beside_a_task_are_means_over_its_time() -> None:
    # Two workers: `sort` from 0 to 4 and `parse` from 1 to 3; elsewhere a `parse` from 2 to 6.
    times = RunTimes(
        kind=np.array([0, 1, 1]),
        is_cpu=np.array([True, True, False]),
        start_s=np.array([0.0, 1.0, 2.0]),
        finish_s=np.array([4.0, 3.0, 6.0]),
    )
    found = shares_beside(times, kinds=2, slots=2, others=1)
    assert found.shares.tolist() == [
        [0.0, 0.5 / 2, 0.0, 0.5],  # half of its time a parse on the other worker, half of it one elsewhere
        [0.5, 0.0, 0.0, 0.5],
        [0.5 / 2, 0.25 / 2, 0.0, 0.0],
    ]
    assert found.full.tolist() == [0.5, 1.0, 0.25]
    assert found.elsewhere.tolist() == [0.5, 0.5, 1.0]
    # One worker is always full; and of two other devices each is half of them.
    assert shares_beside(times, kinds=2, slots=1, others=1).full.tolist() == [0.0, 0.0, 0.0]
    assert shares_beside(times, kinds=2, slots=2, others=2).shares[0].tolist() == [0.0, 0.25, 0.0, 0.25]


def test_what_neighbours_do_is_found_and_what_nobody_saw_stays_at_nothing() -> None:
    rng = stream(0, "tests", "neighbours")
    count = 4000
    shares = np.zeros((count, 4))
    shares[:, 0] = rng.random(count)
    case = rng.integers(2, size=count)
    full = (rng.random(count) < 0.3).astype(float)
    excess = 0.1 * case - 0.5 * shares[:, 0] + 0.2 * full + 0.1 * rng.standard_normal(count)
    found = neighbours_of(KINDS, ["sort:1", "sort:2", "parse:1"], case, shares, full, excess)
    assert found.own == pytest.approx({"sort:1": 0.0, "sort:2": 0.1}, abs=0.02)
    assert found.on_cpu == pytest.approx({"sort": -0.5, "parse": 0.0}, abs=0.03)
    assert found.elsewhere == {"sort": 0.0, "parse": 0.0}
    assert found.full == pytest.approx(0.2, abs=0.02)


def test_without_neighbours_the_slowdown_is_that_of_the_cluster_to_the_last_bit() -> None:
    rng = stream(1, "tests", "neighbours")
    row = np.array([0, -1, 2, 3, 1])
    case, kind, device = rng.integers(3, size=4), rng.integers(2, size=4), np.array([0, 0, 0, 0, 1])
    factors = (1.0 + rng.random(3), 1.0 + rng.random(3), 1.0 + rng.random(3))
    states = []
    for beside in (False, True):
        left, slower, since = np.full(5, 0.7), np.full(5, 1.1), np.zeros(5)
        if beside:
            rescale_beside(
                0.1, 4, row, left, slower, since, case, kind, device, *factors, np.zeros((2, 3)), np.zeros((2, 5))
            )
        else:
            rescale(0.1, 4, row, left, slower, since, case, *factors)
        states.append((left.tolist(), slower.tolist(), since.tolist()))
    assert states[0] == states[1]


def test_a_machine_whose_tasks_feel_their_neighbours_is_predicted_better_by_what_placed_streams_told() -> None:
    plain = calibration()
    quick = Neighbours(
        own={"sort": 0.1, "parse": -0.1}, on_cpu={"sort": 0.5, "parse": -0.6}, elsewhere={"sort": 0.0, "parse": 0.1},
        full=-0.2,
    )  # fmt: skip
    real = replace(plain, neighbours={"cpu": quick, "numba": quick})

    def run(known: Calibration, name: str, load: float, seed: int) -> float:
        tasks = stream_of_length(plain, 4.0, load, seed)
        return float(simulate(tasks, known, make_strategy(name, tasks, plain), uncertain=False).latency_s.mean())

    told = []
    for seed, (name, load) in enumerate((("earliest_device", 0.5), ("round_robin", 0.8), ("earliest_device", 1.0))):
        tasks = stream_of_length(plain, 4.0, load, seed)
        told.append((tasks, simulate(tasks, real, make_strategy(name, tasks, plain), uncertain=False)))
    learned = as_placed(plain, told)
    for load in (0.5, 1.0):
        measured, before, after = (run(one, "best_fixed", load, 9) for one in (real, plain, learned))
        assert abs(after / measured - 1.0) < 0.05
        assert abs(before / measured - 1.0) > 2.0 * abs(after / measured - 1.0)
    assert learned.gaps_s == pytest.approx({"cpu": 1e-4, "numba": 1e-4})


@pytest.mark.parametrize("others", [1, 4])
def test_a_machine_that_the_factors_explain_has_no_terms_for_neighbours(others: int) -> None:
    known = calibration(others=others)
    told = []
    for seed, load in enumerate((0.5, 0.8, 1.0)):
        tasks = stream_of_length(known, 6.0, load, seed)
        told.append((tasks, simulate(tasks, known, make_strategy("earliest_device", tasks, known), uncertain=False)))
    for found in as_placed(known, told).neighbours.values():
        terms = [*found.own.values(), *found.on_cpu.values(), *found.elsewhere.values(), found.full]
        assert max(map(abs, terms)) < 0.06


def test_a_run_that_was_stopped_and_a_node_without_further_devices_tell_what_they_can() -> None:
    known = calibration()
    tasks = stream_of_length(known, 3.0, 0.8, 1)
    run = simulate(tasks, known, make_strategy("earliest_device", tasks, known), uncertain=False)
    late = run.start_s > 1.5
    cut = replace(run, start_s=np.where(late, np.nan, run.start_s), finish_s=np.where(late, np.nan, run.finish_s))
    assert cut.unfinished > 0
    shares = [cut.summary()[f"share_{name}"] for name in cut.place_names]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] == pytest.approx((run.place[~late] == 0).mean())  # what never ran, ran nowhere
    assert set(as_placed(known, [(tasks, cut)]).neighbours) == {"cpu", "numba"}
    bare = replace(known, devices={"cpu": 4}, cross={})
    alone = simulate(tasks, bare, make_strategy("cpu_only", tasks, bare), uncertain=False)
    assert set(as_placed(bare, [(tasks, alone)]).neighbours) == {"cpu"}


def test_what_placed_streams_told_is_read_as_it_was_written_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    quick = Neighbours(own={"sort:2": 0.1}, on_cpu={"sort": -0.5}, elsewhere={"sort": 0.0}, full=0.25)
    known = replace(
        calibration(), neighbours={"cpu": quick}, gaps_s={"cpu": 1e-4}, repeated={"cpu": {"sort": {"2": 0.75}}}
    )
    write_calibration(known, path)
    assert read_calibration(path) == known
    assert known.of_kinds(["sort"]).neighbours == known.neighbours
    content = path.read_text()
    wrong = [
        ('"full": 0.25', '"full": NaN'),
        ('"full": 0.25', '"full": "x"'),
        ('"sort:2": 0.1', '"sort:2": null'),
        ('"gaps_s": {\n  "cpu": 0.0001', '"gaps_s": {\n  "cpu": -5'),
        ('"2": 0.75', '"2": Infinity'),
    ]
    for before, after in wrong:
        assert before in content
        path.write_text(content.replace(before, after))
        with pytest.raises(ProfileError, match="damaged"):
            read_calibration(path)
    old = json.loads(content)
    path.write_text(json.dumps({name: value for name, value in old.items() if name != "machine"}))
    with pytest.raises(ProfileError, match=r"damaged \('machine' is missing\)"):
        read_calibration(path)
    for name in ("neighbours", "gaps_s", "repeated"):
        del old[name]
    path.write_text(json.dumps(old))
    assert read_calibration(path) == calibration()


def test_a_device_that_can_do_nothing_of_what_is_asked_is_left_out() -> None:
    sizes = {"matmul": (32, 48)}  # there is no form of it for Numba
    with Bench(sizes, 1, ["numba"]) as bench:
        known = bench.calibrate(2.0)
        assert set(known.alone_s) == {"cpu"}
        assert bench.run("earliest_device", stream_of_length(known, 0.2, 1.0, 5)).unfinished == 0


def test_a_task_behind_one_of_its_own_kind_and_size_takes_as_long_as_was_measured_there() -> None:
    known = calibration(workers=1).of_kinds(["sort"])
    sizes = known.sizes["sort"]
    again = replace(known, repeated={"cpu": {"sort": {str(size): 0.5 for size in sizes}}})
    tasks = stream_of_length(known, 5.0, 1.0, seed=1)
    one_size = replace(tasks, size=np.full(len(tasks), float(sizes[0])))
    plain, halved = (
        simulate(one_size, one, make_strategy("cpu_only", one_size, one), uncertain=False).makespan_s
        for one in (known, again)
    )
    first_s, pauses_s = SECONDS["cpu"]["sort"], len(tasks) * known.gap_s
    assert halved == pytest.approx((plain - pauses_s - first_s) / 2.0 + pauses_s + first_s, rel=0.01)


def test_only_a_task_right_behind_its_equal_on_the_same_worker_is_a_repetition() -> None:
    def record(task_id: int, worker: int, kind: str, size: float, place: str = "cpu") -> TaskRecord:
        known = {"task_id": task_id, "worker": worker, "kind": kind, "size": size, "started_s": float(task_id)}
        known["place"] = place
        return TaskRecord._make(known.get(name) for name in TaskRecord._fields)

    records = [
        record(0, 0, "sort", 1.0), record(1, 1, "sort", 1.0), record(2, 0, "sort", 1.0), record(3, 1, "sort", 2.0),
        record(4, 0, "parse", 1.0), record(5, 0, "sort", 1.0), record(6, 0, "sort", 1.0),
        record(7, 0, "sort", 1.0, "numba_0"), record(8, 0, "sort", 1.0),
    ]  # fmt: skip
    assert repeated_ids(records[::-1]) == {2, 6, 8}


def test_what_is_in_memory_before_a_run_is_not_searched_for_garbage_during_it() -> None:
    def interrupt() -> None:
        with short_collections():
            frozen.append(gc.get_freeze_count())
            raise KeyboardInterrupt

    before, frozen = gc.get_freeze_count(), list[int]()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert frozen[0] > before
    assert gc.get_freeze_count() == 0


def test_a_bench_is_calibrated_on_the_workers_that_run_afterwards() -> None:
    sizes = {"sort": (2000, 4000), "stream": (5000,)}
    with Bench(sizes, 1, ["numba"]) as bench:
        with pytest.raises(ProfileError, match="not calibrated yet"):
            bench.run("cpu_only", stream_of_length(calibration(), 1.0, 1.0, 0))
        known = bench.calibrate(2.0)
        assert bench.calibration is known
        assert set(known.neighbours) == {"cpu", "numba"} >= set(known.gaps_s)
        assert all(math.isfinite(value) for one in known.neighbours.values() for value in one.own.values())
        assert set(known.repeated["cpu"]["sort"]) == {"2000", "4000"}
        tasks = stream_of_length(known, 0.3, 1.0, 5)
        assert bench.run("earliest_device", tasks).unfinished == 0
