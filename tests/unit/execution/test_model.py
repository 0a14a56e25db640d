"""The model of a run: what is measured goes in, what the executor would do comes out."""

from __future__ import annotations

import _thread
import dataclasses
import json
import math
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.execution.runs.calibration import Calibration, Factor, read_calibration, write_calibration
from hybrid_ml_scheduler.execution.runs.deciding import decision_seconds
from hybrid_ml_scheduler.execution.runs.kinds import KINDS, kinds_named, sizes_named
from hybrid_ml_scheduler.execution.runs.light_load import LightTask, light_moments, rested_factors, waking_s
from hybrid_ml_scheduler.execution.runs.meters import Meters
from hybrid_ml_scheduler.execution.runs.modelled_run import simulate
from hybrid_ml_scheduler.execution.runs.report import write_trace
from hybrid_ml_scheduler.execution.runs.streams import drawn_stream
from hybrid_ml_scheduler.execution.runs.study import Bench, bound, capacity, make_strategy, slowness, stream_of_length
from hybrid_ml_scheduler.execution.runs.validated import alarms, surprise, validated_range
from hybrid_ml_scheduler.execution.runs.validation import Comparison, RealCase, case_summary, compare, fidelity
from hybrid_ml_scheduler.execution.work import TaskRecord

# Milliseconds on one core for the second of four sizes; larger ones take three times as long each.
MILLISECONDS = {
    "cpu": {"matmul": 2.0, "stream": 4.0, "sort": 5.0, "chain": 5.0, "parse": 6.0, "compress": 3.0},
    "numba": {"stream": 2.0, "sort": 18.0, "chain": 15.0, "parse": 0.4},
}
KIND_NAMES = tuple(MILLISECONDS["cpu"])


def calibration(workers: int = 1, cross: float = 1.0) -> Calibration:
    sizes = sizes_named("small", KIND_NAMES)
    alone = {
        device: {
            kind: {str(size): 1e-3 * base * 3.0 ** (place - 1) for place, size in enumerate(sizes[kind])}
            for kind, base in kinds.items()
        }
        for device, kinds in MILLISECONDS.items()
    }
    factors = {
        device: {kind: Factor(value=cross, spread=0.01, runs=9) for kind in kinds}
        for device, kinds in MILLISECONDS.items()
    }
    return Calibration(
        machine={"cpu": "made up"},
        devices={"cpu": workers, "numba": 1},
        kinds=KIND_NAMES,
        alone_s=alone,
        cross=factors,
        within={},
        residuals={},
        gap_s=1e-4,
        delay_s=1e-4,
        drift=0.01,
    )


def test_hybrid_ml_starting_ignorant_beats_the_best_fixed_choice_and_every_single_device() -> None:
    known = calibration()
    tasks = stream_of_length(known, 20.0, 1.0, seed=3)
    span = {
        name: simulate(tasks, known, make_strategy(name, tasks, known), knows=False, uncertain=False).makespan_s
        for name in ("hybrid_ml", "best_fixed", "cpu_only", "gpu_only")
    }
    assert span["hybrid_ml"] <= 1.05 * span["best_fixed"]
    assert min(span["cpu_only"], span["gpu_only"]) >= 1.3 * span["hybrid_ml"]
    assert min(span.values()) >= bound(tasks, known).makespan_s


def test_a_worker_at_rest_makes_tasks_slower_at_a_light_load_and_none_where_all_queue() -> None:
    known = calibration()
    tired = replace(known, rested={"cpu": Factor(value=2.0, spread=0.0, runs=9)})
    for load, most in ((0.1, 2.1), (1.0, 1.02)):
        tasks = stream_of_length(known, 10.0, load, seed=3)
        means = [
            simulate(tasks, one, make_strategy("cpu_only", tasks, one), uncertain=False).summary()["mean_latency_s"]
            for one in (known, tired)
        ]
        assert means[1] <= most * means[0]
        assert (means[1] > 1.5 * means[0]) == (load < 1.0)


def test_the_price_of_a_rest_is_told_apart_from_that_of_neighbours() -> None:
    known, tasks = calibration(cross=1.5), []
    alone = {("cpu", "sort", 30_000): 0.01, ("numba", "sort", 30_000): 0.02}
    for number, others in enumerate((0.0, 0.5, 1.0) * 5):
        seconds = 0.01 * 1.2 * (1.0 + 0.5 * others)
        record = TaskRecord._make(
            {"task_id": number, "kind": "sort", "size": 30_000.0, "place": "cpu", "started_s": 1.0,
             "finished_s": 1.0 + seconds}.get(name) for name in TaskRecord._fields
        )  # fmt: skip
        tasks.append(
            LightTask(planned_s=0.998, device="cpu", record=record, rested=True, others_busy=others, fellows_busy=0)
        )
    found = rested_factors(tasks, alone, known.cross, {}, 1)
    assert found["cpu"].value == pytest.approx(1.2)
    assert waking_s(tasks) == pytest.approx(0.002)
    assert waking_s(tasks[:2]) is None


def test_nothing_overlaps_on_a_worker_and_nothing_starts_before_it_arrives() -> None:
    known = calibration(workers=2, cross=1.4)
    tasks = stream_of_length(known, 5.0, 0.8, seed=4)
    run = simulate(tasks, known, make_strategy("earliest_device", tasks, known), seed=1)
    assert np.all(run.start_s >= run.arrival_s)
    for worker in set(run.worker.tolist()):
        mine = np.flatnonzero(run.worker == worker)
        order = mine[np.argsort(run.start_s[mine])]
        assert np.all(run.start_s[order][1:] >= run.finish_s[order][:-1] - 1e-12)
    slower = (run.finish_s - run.start_s).sum()
    alone = simulate(
        tasks, dataclasses.replace(known, cross={}), make_strategy("earliest_device", tasks, known), seed=1
    )
    assert slower > (alone.finish_s - alone.start_s).sum()


def test_what_a_size_has_of_its_own_beside_others_is_not_added_alone() -> None:
    known = calibration(cross=1.5)
    row = {f"{kind}:{size}": (0.3, 0.3, 0.3) for kind, sizes in known.sizes.items() for size in sizes}
    sized = replace(known, residuals={"cpu": row})
    tasks = stream_of_length(known, 3.0, 1.0, seed=4)
    busy = {
        (name, one is sized): simulate(tasks, one, make_strategy(name, tasks, known), uncertain=False).summary()[
            "device_seconds"
        ]
        for name in ("cpu_only", "best_fixed")
        for one in (known, sized)
    }
    assert busy["cpu_only", True] == pytest.approx(busy["cpu_only", False])
    assert busy["best_fixed", True] > 1.01 * busy["best_fixed", False]


def test_a_real_run_is_judged_by_its_own_tasks_whatever_the_calibration_believes_of_the_machine() -> None:
    known = calibration()
    tasks = stream_of_length(known, 3.0, 1.0, 7)
    case = RealCase(
        1.0, "cpu_only", 7, 3.0, 0, simulate(tasks, known, make_strategy("cpu_only", tasks, known)).summary()
    )
    slower = replace(known, cross={})
    for one in (known, slower):
        rows = compare([case], one, draws=2)
        assert rows[0].modelled == pytest.approx(case.summary["makespan_s"], rel=0.1)
    assert fidelity(rows)["ranking"] == {"pairs": 0, "agreed": 0}  # one run has no interval


def test_a_stream_keeps_to_its_load_and_the_same_seed_gives_the_same_run() -> None:
    known = calibration()
    tasks = stream_of_length(known, 10.0, 0.5, seed=5)
    rate = len(tasks) / float(tasks.arrival_s[-1])
    assert rate == pytest.approx(0.5 * capacity(tasks, known), rel=0.1)
    first, again = (simulate(tasks, known, make_strategy("hybrid_ml", tasks, known), seed=2) for _ in range(2))
    np.testing.assert_array_equal(first.finish_s, again.finish_s)


def test_a_prediction_of_the_model_itself_is_within_its_own_interval() -> None:
    known = calibration()
    cases = [
        RealCase(
            load, name, 7, 3.0, repeat,
            simulate(tasks, known, make_strategy(name, tasks, known), seed=100 + repeat).summary(),
        )
        for load in (0.5, 1.0)
        for tasks in [stream_of_length(known, 3.0, load, 7)]
        for name in ("earliest_device", "cpu_only")
        for repeat in range(4)
    ]  # fmt: skip
    verdict = fidelity(compare(cases, known, draws=20))
    assert verdict["runs"] == 16
    assert verdict["makespan_s"]["median_error"] < 0.03
    assert verdict["makespan_s"]["coverage"] >= 0.7
    assert verdict["ranking"]["pairs"] == verdict["ranking"]["agreed"] > 0


def test_a_wrong_model_is_found_out() -> None:
    rows = [
        Comparison(1.0, "a", 1, 0, metric, 10.0, 20.0, 19.0, 21.0, 20.0)
        for metric in ("makespan_s", "mean_latency_s", "p95_latency_s")
    ]
    verdict = fidelity(rows)
    assert verdict["makespan_s"]["median_error"] == pytest.approx(1.0)
    assert verdict["makespan_s"]["coverage"] == 0.0


def test_a_latency_may_be_off_by_a_quarter_or_by_what_repeats_of_its_own_case_differ() -> None:
    def case(strategy: str, modelled_s: float, *measured_s: float) -> list[Comparison]:
        return [
            Comparison(0.8, strategy, 1, repeat, metric, value, modelled_s, 0.0, 1.0, modelled_s)
            for repeat, value in enumerate(measured_s)
            for metric in ("makespan_s", "mean_latency_s", "p95_latency_s")
        ]

    steady, shaky = case("a", 1.3, 1.0, 1.0), case("b", 1.3, 1.0, 2.0)
    verdict = fidelity([*steady, *shaky])
    assert verdict["mean_latency_s"]["share_within_90_limit"] == 0.5  # a third off, and its repeats agree: not within
    assert not verdict["mean_latency_s"]["holds"]
    assert verdict["makespan_s"]["share_within_90_limit"] == 0.0  # makespans have no such excuse
    assert fidelity(shaky)["mean_latency_s"]["holds"]


def test_a_calibration_is_read_as_it_was_written_and_anything_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(calibration(), path)
    assert read_calibration(path) == calibration()
    path.write_text(path.read_text().replace('"gap_s": 0.0001', '"gap_s": -1'))
    with pytest.raises(ProfileError, match="damaged"):
        read_calibration(path)
    path.write_text("{}")
    with pytest.raises(ProfileError, match="no calibration of format 1"):
        read_calibration(path)


def test_a_calibration_can_be_used_for_some_of_its_kinds_and_knows_no_others() -> None:
    known = calibration()
    few = known.of_kinds(["sort", "parse", "sort"])
    assert set(drawn_stream(few.sizes, 100, 1).names()) == {"sort", "parse"}
    assert known.of_kinds(None) is known
    with pytest.raises(ProfileError, match="does not know the kind 'fft'; it knows matmul"):
        known.of_kinds(["sort", "fft"])


def test_a_trace_has_a_lane_for_every_worker_and_no_overlap(tmp_path: Path) -> None:
    known = calibration(workers=2)
    tasks = stream_of_length(known, 2.0, 1.0, seed=6)
    write_trace(
        tmp_path / "trace.json", tasks, [simulate(tasks, known, make_strategy("earliest_device", tasks, known))]
    )
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    lanes = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert lanes == {"cpu", "numba_0"}
    assert sum(event["ph"] == "X" for event in events) == len(tasks)


@pytest.mark.parametrize("kind", kinds_named(None))
def test_every_implementation_of_a_built_in_kind_gives_the_same_answer(kind: str) -> None:
    task = KINDS[kind]
    size = sizes_named("small", [kind])[kind][0]
    expected = task(size)
    for device, call in task.implementations.items():
        if device != "cuda":
            assert call(size) == pytest.approx(expected, rel=1e-3)


def test_a_run_outside_the_validated_range_raises_an_alarm() -> None:
    verdict = {"runs": 24, "makespan_s": {"p90_error": 0.1}, "mean_latency_s": {"p90_error": 0.2}}
    known = replace(calibration(), validated=validated_range([0.5, 1.0], ["hybrid_ml"], 20.0, verdict))
    machine = {"cpu": "made up"}
    assert alarms(known, 0.8, ["hybrid_ml"], machine) == []
    (load,) = alarms(known, 1.5, ["hybrid_ml"], machine)
    assert load == "Load 1.5 lies outside the validated range 0.5 to 1."
    assert "not validated with greedy" in alarms(known, 0.8, ["greedy"], machine)[0]
    assert "another machine" in alarms(known, 0.8, ["hybrid_ml"], {"cpu": "other"})[0]
    assert "never validated" in alarms(calibration(), 0.8, ["hybrid_ml"], machine)[0]
    tasks = stream_of_length(known, 3.0, 1.0, seed=4)
    run = simulate(tasks, known, make_strategy("cpu_only", tasks, known), uncertain=False)
    slower = replace(run, finish_s=run.finish_s * 1.3)
    assert surprise(known, run, run) is None
    assert "off by 23%" in str(surprise(known, slower, run))


def test_meters_count_joules_of_the_packages_and_go_round(tmp_path: Path) -> None:
    for name, joules in (("intel-rapl:0", 5), ("intel-rapl:0:0", 1), ("intel-rapl:1", 9)):
        zone = tmp_path / name
        zone.mkdir()
        (zone / "energy_uj").write_text(f"{joules * 1_000_000}\n")
        (zone / "max_energy_range_uj").write_text("10000000\n")
    meters = Meters(tmp_path)
    assert "RAPL" in meters.sentence
    meters.start()
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("7000000\n")
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("1000000\n")
    used = meters.joules()
    assert used is not None
    assert used >= 4.0


def test_a_machine_that_stays_slower_is_predicted_to_be_so_by_and_by() -> None:
    known = calibration()
    tasks = stream_of_length(known, 5.0, 1.0, seed=5)
    usual, slower = (
        simulate(tasks, known, make_strategy("cpu_only", tasks, known), uncertain=False, levels=levels)
        for levels in ({}, {"cpu": math.log(1.5)})
    )
    assert slower.makespan_s == pytest.approx(1.5 * usual.makespan_s, rel=0.02)
    first = RealCase(1.0, "cpu_only", 5, 5.0, 0, case_summary(slower, tasks, known, 0.0))
    rows = compare([first._replace(repeat=repeat) for repeat in range(8)], known, draws=3)
    spans = [row for row in rows if row.metric == "makespan_s"]
    assert spans[0].error < -0.25  # nobody knew yet
    assert spans[1].modelled == pytest.approx(1.5**0.3 * spans[0].modelled, rel=0.05)  # one run is not believed whole
    assert spans[7].error == pytest.approx(0.0, abs=0.1)  # after seven of them nearly all of it is
    assert {row.usual for row in spans} == {spans[0].modelled}


def test_the_slowness_of_a_device_is_what_its_tasks_take_longer_than_alone_wherever_more_of_them_go() -> None:
    known = calibration()
    tasks = stream_of_length(known, 5.0, 1.0, seed=5)
    for strategy in ("cpu_only", "earliest_device"):
        run = simulate(
            tasks, known, make_strategy(strategy, tasks, known), uncertain=False, levels={"cpu": math.log(1.2)}
        )
        found = slowness(run, tasks, known)
        assert found["cpu"] == pytest.approx(math.log(1.2), abs=0.01)
        assert found.get("numba", 0.0) == pytest.approx(0.0, abs=0.01)


def test_strategies_are_ranked_where_intervals_of_real_repeats_do_not_overlap() -> None:
    def case(strategy: str, modelled_s: float, *measured_s: float, hurry: float = 1.0) -> list[Comparison]:
        return [
            Comparison(0.8, strategy, 1, repeat, metric, value, modelled_s * hurry, 0.0, 9.0, modelled_s)
            for repeat, value in enumerate(measured_s)
            for metric in ("makespan_s", "mean_latency_s", "p95_latency_s")
        ]

    apart = fidelity([*case("a", 1.0, 1.0, 1.01, 1.02), *case("b", 2.0, 2.0, 2.01, 2.02)])
    assert apart["ranking"] == apart["ranking_of_extremes"] == {"pairs": 1, "agreed": 1}
    # How fast the machine was right before is no property of a strategy.
    hurried = fidelity([*case("a", 1.0, 1.0, 1.01, 1.02), *case("b", 2.0, 2.0, 2.01, 2.02, hurry=0.4)])
    assert hurried["ranking"] == {"pairs": 1, "agreed": 1}
    few = fidelity([*case("a", 2.0, 1.0, 1.5), *case("b", 1.0, 2.0, 2.5)])  # t of two repeats is 12.7
    assert few["ranking"] == {"pairs": 0, "agreed": 0}
    assert few["ranking_of_extremes"] == {"pairs": 1, "agreed": 0}


def test_deciding_takes_time_of_its_own_core_or_of_a_worker() -> None:
    known = calibration()
    tasks = stream_of_length(known, 5.0, 1.0, seed=5)

    def makespan_s(cores: str, decision_s: float) -> float:
        node = replace(known, machine={**known.machine, "cores": cores})
        return simulate(
            tasks, node, make_strategy("earliest_device", tasks, node), uncertain=False, decision_s=decision_s
        ).makespan_s

    free, charged = makespan_s("2", 0.0), makespan_s("2", 1e-3)
    assert charged == pytest.approx(free + 1e-3 * len(tasks) / 2.0, rel=0.03)  # both workers lose half of it each
    assert free <= makespan_s("3", 1e-3) < free + 0.4 * (charged - free)  # what waits ahead hides most


def test_a_lone_task_ends_later_by_what_deciding_takes() -> None:
    known = calibration()
    tasks = stream_of_length(known, 5.0, 0.2, seed=5)
    first, later = (
        simulate(
            tasks, known, make_strategy("cpu_only", tasks, known), uncertain=False, decision_s=decision_s
        ).latency_s.min()
        for decision_s in (0.0, 5e-3)
    )
    assert later == pytest.approx(first + 5e-3)


def test_what_a_decision_takes_is_measured_and_learning_counts() -> None:
    known = calibration()
    tasks = drawn_stream(known.sizes, 300, 0).at_once()
    simple, thorough = (
        decision_seconds(make_strategy(name, tasks, known), tasks, known) for name in ("earliest_device", "hybrid_ml")
    )
    assert 1e-6 < simple < thorough < 0.1


def test_every_place_has_the_same_light_load() -> None:
    sizes = {"sort": (30_000,), "stream": (200_000,)}
    alone = {("cpu", kind, size): 0.1 for kind, (size,) in sizes.items()}
    alone |= {("numba", kind, size): 0.01 for kind, (size,) in sizes.items()}
    coming = light_moments(sizes, alone, [(0, "cpu"), (1, "numba")], {"cpu": 4, "numba": 1}, 50.0)
    busy_s = {
        place: sum(seconds for _, one, _, _ in coming if one == place) for place, seconds in ((0, 0.1), (1, 0.01))
    }
    assert busy_s[0] / (4 * 50.0) == pytest.approx(0.4, rel=0.15)
    assert busy_s[1] / 50.0 == pytest.approx(0.4, rel=0.15)
    assert coming == sorted(coming)


def test_whoever_interrupts_a_real_run_does_not_wait_for_the_rest_of_it() -> None:
    known = replace(calibration(), kinds=("parse",))
    tasks = drawn_stream(known.sizes, 60_000, 0).at_once()  # minutes of work

    def interrupt() -> None:
        with Bench.of(known, ["numba"]) as bench:
            bench.decision_s("cpu_only")
            threading.Timer(2.0, _thread.interrupt_main).start()
            bench.run("cpu_only", tasks)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert time.monotonic() - begun < 20.0
