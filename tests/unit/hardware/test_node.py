"""From a profile to a node: the right numbers, read off the curves, and the sentences that go with them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import certificate, run_batch, summarize
from hybrid_ml_scheduler.core import HasRule, TaskBatch
from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.hardware import assumptions, node_from_profile, outside_range, read_profile
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.workload import generate, preset

REPOSITORY = Path(__file__).parents[3]
HANDMADE = REPOSITORY / "tests" / "data" / "cuda_profile.json"
H200 = REPOSITORY / "plans" / "hardware" / "h200.json"


def tasks(size: list[float], intensity: list[float], memory: list[float], **more: Any) -> TaskBatch:
    return TaskBatch.from_columns(
        size=size, compute_intensity=intensity, memory_required=memory, arrival_time=np.zeros(len(size)), **more
    )


def changed(path: Path, tmp_path: Path, change: Any) -> Path:
    found = json.loads(path.read_text())
    change(found)
    other = tmp_path / "changed.json"
    other.write_text(json.dumps(found))
    return other


def without_transfers(series: dict[str, Any]) -> None:
    for name in [name for name in series if name.startswith("transfer")]:
        del series[name]


def test_the_node_has_the_measured_devices() -> None:
    node = node_from_profile(HANDMADE)
    assert node.num_gpus == 2
    gpu = node.gpus[0]
    assert (gpu.memory_mb, gpu.launch_s, gpu.power_w, gpu.idle_power_w) == (80_000.0, 1e-5, 600.0, 60.0)
    assert gpu.bandwidth_mb_s == pytest.approx(50_000.0)
    assert node.cpu.power_w == 30.0  # not readable: the default stays
    assert node.curves is not None
    assert node.curves.size.tolist() == [100.0, 1000.0, 10000.0]  # 10 was measured on the CPU only
    assert node.curves.source.startswith("Handmade GPU and Handmade CPU, profile ")


def test_pageable_transfers_and_another_number_of_gpus_can_be_asked_for() -> None:
    node = node_from_profile(HANDMADE, transfer="pageable", num_gpus=3)
    assert node.num_gpus == 3
    assert node.gpus[0].bandwidth_mb_s == pytest.approx(10_000.0)


def test_times_are_the_measured_ones_at_and_geometric_between_the_sizes() -> None:
    middle = math.sqrt(100.0 * 1000.0)
    batch = tasks([1000, 1000, middle, 1000], [1.0, 0.0, 1.0, 0.5], [0.0, 0.0, 100.0, 0.0])
    seconds = durations(batch, node_from_profile(HANDMADE))
    assert seconds.cpu_s == pytest.approx([0.1, 0.001, math.sqrt(1e-4 * 1e-1), math.sqrt(0.1 * 0.001)])
    launch, transfer = 1e-5, 100.0 / 50_000.0
    expected = [1e-3 + launch, 1e-5 + launch, 1e-4 + transfer + launch, math.sqrt(1e-3 * 1e-5) + launch]
    assert seconds.gpu_s[:, 0] == pytest.approx(expected)


def test_a_race_on_the_profile_takes_the_interpolated_times() -> None:
    node = node_from_profile(HANDMADE)
    batch = tasks([1000.0, 300.0, 3000.0], [1.0, 0.5, 0.0], [500.0, 50.0, 10.0])
    seconds = durations(batch, node)
    greedy = create("greedy")
    assert isinstance(greedy, HasRule)
    ran = run_batch(batch, node, greedy.rule(batch))
    share = batch.compute_intensity
    assert ran.gpu_s == pytest.approx(share * seconds.gpu_s[:, 0])
    assert ran.cpu_s == pytest.approx((1 - share) * seconds.cpu_s)
    # GPU 0 takes the first, GPU 1 the second; the CPU serves the rest of the second, then the third.
    assert ran.finish_s[0] == pytest.approx(seconds.gpu_s[0, 0])
    assert ran.finish_s[2] == pytest.approx(0.5 * seconds.cpu_s[1] + seconds.cpu_s[2])


def test_tasks_outside_the_measured_sizes_are_counted_in_a_sentence() -> None:
    batch = tasks([50, 100, 10_000, 10_001, 20_000], [0.5] * 5, [1.0] * 5)
    said = outside_range(HANDMADE, batch)
    assert said is not None
    assert said.startswith("3 of 5 tasks have a size outside the measured 100 to 10000 (1 below, 2 above;")
    assert "from 50 to 20000" in said
    assert outside_range(read_profile(HANDMADE), tasks([100, 10_000], [0, 1], [1, 1])) is None


def test_tasks_with_a_time_of_their_own_are_never_outside() -> None:
    batch = tasks([1.0] * 3, [0.5] * 3, [1.0] * 3, cpu_time=[2.0, math.nan, math.nan], gpu_time=[1.0, 1.0, math.nan])
    said = outside_range(HANDMADE, batch)
    assert said is not None
    assert said.startswith("1 of 3 ")


def test_a_profile_changes_the_time_that_was_not_measured_by_its_own_speed_up() -> None:
    sizes, shares = [100.0, 1000.0, 5e7], [0.0, 0.5, 1.0]
    node = node_from_profile(HANDMADE)
    bare = durations(tasks([100.0, 1000.0, 10_000.0], shares, [0.0] * 3), node)
    measured_cpu = tasks(sizes, shares, [0.0] * 3, cpu_time=[10.0] * 3, speedup_factor=[1.0, 2.0, 1.0])
    found, usual = durations(measured_cpu, node), durations(measured_cpu, Node())
    launch = node.gpus[0].launch_s
    speedups = bare.cpu_s / (bare.on_gpu(0) - launch) * [1.0, 2.0, 1.0]
    assert found.cpu_s.tolist() == [10.0] * 3
    assert found.on_gpu(0) == pytest.approx(10.0 / speedups + launch)
    assert not np.isclose(found.on_gpu(0), usual.on_gpu(0)).any()
    measured_gpu = tasks(sizes, shares, [0.0] * 3, gpu_time=[10.0] * 3)
    assert durations(measured_gpu, node).cpu_s == pytest.approx(10.0 * bare.cpu_s / (bare.on_gpu(0) - launch))
    estimator = PhysicsEstimator(node)
    assert [estimator.cpu_s(task) for task in measured_gpu] == durations(measured_gpu, node).cpu_s.tolist()
    assert [estimator.gpu_s(task, 0) for task in measured_cpu] == found.on_gpu(0).tolist()


def test_the_assumptions_count_the_tasks_that_a_profile_changes_and_those_it_cannot() -> None:
    nothing = math.nan
    batch = tasks(
        [500.0] * 3 + [1e6], [0.5] * 4, [1.0] * 4, cpu_time=[1.0, 1.0, nothing, 1.0], gpu_time=[1.0] + [nothing] * 3
    )
    text = " ".join(assumptions(HANDMADE, batch))
    assert "The durations of 1 of 4 tasks are interpolated from measurements on Handmade GPU" in text
    assert "The GPU times of 2 of 4 tasks follow from the other device's measured time" in text
    assert "for 1 beyond the measured sizes" in text
    assert "does not change the durations of 1 of 4 tasks" in text
    timed = tasks([500.0], [0.5], [1.0], cpu_time=[1.0], gpu_time=[1.0])
    assert not any("interpolated" in sentence for sentence in assumptions(HANDMADE, timed))
    assert "does not change the durations of the one task" in assumptions(HANDMADE, timed)[0]


def test_the_assumptions_name_the_machine_the_transfer_and_every_default() -> None:
    inside = tasks([100.0], [0.5], [1.0])
    said = assumptions(HANDMADE, inside)
    assert "Handmade GPU" in said[0]
    assert "pinned" in said[1]
    assert any("measured for the CPU" in sentence for sentence in said)
    assert not any("measured for the GPU" in sentence for sentence in said)
    assert said[-1] == "Written by hand."
    assert "outside" in assumptions(HANDMADE, tasks([1.0], [0.5], [1.0]))[-1]


def test_memory_that_knows_no_pinning_uses_its_one_kind_of_copy(tmp_path: Path) -> None:
    path = changed(HANDMADE, tmp_path, lambda found: found["gpu"]["series"].pop("transfer_pinned_to_device"))
    assert node_from_profile(path).gpus[0].bandwidth_mb_s == pytest.approx(10_000.0)
    assert "pageable" in assumptions(path, tasks([100.0], [0.5], [1.0]))[1]


def test_a_profile_without_gpu_is_refused_with_advice(tmp_path: Path) -> None:
    path = changed(HANDMADE, tmp_path, lambda found: found.update(gpu=None))
    with pytest.raises(ProfileError, match=r"holds no GPU, and a race needs one"):
        node_from_profile(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda found: found["gpu"]["facts"].pop("memory_mb"), "memory_mb"),
        (lambda found: found["gpu"]["facts"].update(count=0), "1 to 1024 GPUs"),
        (lambda found: found["gpu"]["facts"].update(count="two"), "1 to 1024 GPUs"),
        (lambda found: found["gpu"]["readings"].pop("launch"), "launch is missing"),
        (lambda found: found["gpu"]["series"].pop("stream"), "0 sizes"),
        (lambda found: found["cpu"]["series"]["matmul"].update(points=[]), "0 sizes"),
        (
            lambda found: [found["gpu"]["series"].pop(f"transfer_{k}_to_device") for k in ("pinned", "pageable")],
            "missing",
        ),
    ],
)
def test_what_a_race_needs_and_the_profile_lacks_is_named(change: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=complaint):
        node_from_profile(changed(HANDMADE, tmp_path, change))


def test_an_unknown_kind_of_transfer_is_refused() -> None:
    with pytest.raises(ProfileError, match="one of pinned, pageable"):
        node_from_profile(HANDMADE, transfer="psychic")


def test_the_kept_h200_profile_lies_at_the_known_anchors() -> None:
    profile = read_profile(H200)
    assert profile.gpu is not None
    assert profile.gpu.name == "NVIDIA H200"
    cpu, alone = profile.cpu.series["matmul"].medians, profile.gpu.series["matmul_alone"].medians
    gains = {size: cpu[size] / alone[size] for size in (64.0, 256.0, 1024.0, 4096.0)}
    for size, anchor in ((64.0, 0.4), (256.0, 1.0), (1024.0, 24.0), (4096.0, 32.0)):
        assert anchor / 1.7 < gains[size] < anchor * 1.7
    gpu = node_from_profile(H200).gpus[0]
    assert gpu.bandwidth_mb_s == pytest.approx(53_000, rel=0.1)
    assert gpu.idle_power_w == pytest.approx(78, rel=0.05)
    assert gpu.power_w == pytest.approx(648, rel=0.05)
    assert 5e-6 < gpu.launch_s < 25e-6


def test_device_time_and_launch_add_up_to_what_a_lone_product_takes() -> None:
    gpu = read_profile(H200).gpu
    assert gpu is not None
    launch = gpu.readings["launch"].median
    device, alone = gpu.series["matmul"].medians, gpu.series["matmul_alone"].medians
    misses = [abs(device[size] + launch - alone[size]) / alone[size] for size in alone]
    assert max(misses) < 0.4
    assert sorted(misses)[len(misses) // 2] < 0.15


@pytest.mark.parametrize("name", ["greedy", "earliest_device", "earliest_finish"])
def test_a_race_runs_on_the_h200(name: str) -> None:
    node = node_from_profile(H200)
    batch = generate(preset("mixed").with_values({"num_tasks": 500}), 1)
    assert outside_range(H200, batch) is None
    scheduler = create(name)
    assert isinstance(scheduler, HasRule)
    summary = summarize(run_batch(batch, node, scheduler.rule(batch)))
    bound = certificate(batch, node, durations(batch, node)).makespan_s
    assert bound <= summary.makespan_s * (1 + 1e-9)
    assert summary.oom_count == 0
