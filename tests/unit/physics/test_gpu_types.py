"""A task's seconds on a GPU type: measured there, else scaled from another type, else guessed; counted in words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES, type_in
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping, node_to_mapping
from hybrid_ml_scheduler.plans.time_notes import time_notes
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA, real_files

PROFILE = Path("plans/hardware/h200.json")
TRACES = [
    DATA / name for name in ("jobs.swf", "workflow.json", "philly.csv", "azure_llm.csv", "openb_pods.csv", "own.csv")
]


def of_type(*names: str, **physics: Any) -> Node:
    return node_from_mapping({"gpus": [{"type": name} for name in names], **physics}, None)


def tasks(**columns: Any) -> TaskBatch:
    bare = {"size": [1000.0] * 3, "compute_intensity": [0.0, 0.5, 1.0], "memory_required": [0.0] * 3}
    return TaskBatch.from_columns(**{**bare, "arrival_time": [0.0] * 3, **columns})


def test_a_time_measured_on_the_type_is_taken_as_it_is() -> None:
    batch = tasks(gpu_times=[[1.0, 9.0], [2.0, 9.0], [3.0, 9.0]], gpu_types=["v100", "k80"])
    assert durations(batch, of_type("v100")).on_gpu(0).tolist() == [1.0, 2.0, 3.0]
    assert time_notes(batch, of_type("v100")) == ("GPU seconds on v100 (3 tasks): 3 measured on it.",)


def test_a_time_on_another_type_is_scaled_by_published_figures() -> None:
    batch = tasks(gpu_times=[[1.0]] * 3, gpu_types=["v100"])
    found = durations(batch, of_type("h200")).on_gpu(0)
    v100, h200 = GPU_TYPES["v100"], GPU_TYPES["h200"]
    assert found[0] == pytest.approx(v100.memory_gb_s / h200.memory_gb_s)
    assert found[2] == pytest.approx(v100.tensor_tflops / h200.tensor_tflops)
    assert found[1] == pytest.approx(math.sqrt(found[0] * found[2]))
    assert "3 scaled from v100 by published figures" in time_notes(batch, of_type("h200"))[0]


def test_measured_profiles_scale_before_published_figures(tmp_path: Path) -> None:
    own = {"h200": {"profile": str(PROFILE)}, "mine": {**_figures("v100"), "profile": str(DATA / "cuda_profile.json")}}
    node = node_from_mapping({"types": own, "gpu": {"type": "h200"}}, 1)
    batch = tasks(gpu_times=[[1.0, 1.0]] * 3, gpu_types=["v100", "mine"])
    by_size = durations(batch, node).on_gpu(0)
    larger = durations(replace(batch, size=np.full(3, 3000.0)), node).on_gpu(0)
    assert not np.allclose(by_size, larger), "a ratio of curves depends on the size"
    assert "3 scaled from v100, mine by the ratio of measured profiles" in time_notes(batch, node)[0]
    assert node_to_mapping(node_from_mapping(node_to_mapping(node), 1)) == node_to_mapping(node)


def _figures(name: str) -> dict[str, float]:
    keys = ("memory_mb", "memory_gb_s", "fp32_tflops", "bandwidth_mb_s", "power_w", "price_usd_h")
    return {key: getattr(GPU_TYPES[name], key) for key in keys}


def test_a_missing_cpu_time_follows_from_a_time_by_type() -> None:
    batch = tasks(gpu_times=[[1.0]] * 3, gpu_types=["p4"])
    assert durations(batch, of_type("h200")).cpu_s == pytest.approx([1.0, 2.5, 4.0])


def test_the_estimator_and_the_columns_agree_on_every_type() -> None:
    batch = tasks(gpu_times=[[1.0], [math.nan], [2.0]], gpu_types=["v100"], cpu_time=[math.nan, 3.0, 4.0])
    node = of_type("h200", "k80", "v100")
    seconds, estimator = durations(batch, node), PhysicsEstimator(node)
    for row, task in enumerate(batch):
        assert estimator.cpu_s(task) == seconds.cpu_s[row]
        assert [estimator.gpu_s(task, gpu) for gpu in range(3)] == [seconds.on_gpu(gpu)[row] for gpu in range(3)]


@pytest.mark.parametrize("path", [*TRACES, *real_files()], ids=lambda path: path.name)
def test_another_type_changes_a_trace_s_times_or_the_notes_say_why_not(path: Path) -> None:
    names = ("k80", "t4", "a100", "h200")
    batch = load(path, limit=None if "json" in path.name else 200)
    nodes = {name: of_type(*[name] * int(batch.gpus_required.max())) for name in names}
    changed = np.column_stack([durations(batch, nodes[name]).on_gpu(0) for name in names])
    fixed = np.isclose(changed, changed[:, :1]).all(axis=1)
    for name in names:
        (note,) = time_notes(batch, nodes[name])
        stays = f"{int(fixed.sum()):,} given for a GPU whose type is not named, which this type does not change"
        assert (stays in note) == fixed.any()
    if not np.isnan(batch.gpu_time).all():
        named = load(path, limit=None if "json" in path.name else 200, options={"gpu_type": "v100"})
        seconds = [durations(named, nodes[name]).on_gpu(0) for name in names]
        assert not np.isclose(seconds[0], seconds[1]).any()


def test_a_type_brings_its_memory_power_price_and_bus_and_a_plan_may_edit_them() -> None:
    node = node_from_mapping(
        {"types": {"h200": {"price_usd_h": 3.6}}, "gpus": [{"type": "h200"}, {"type": "t4", "power_w": 9.0}]}, None
    )
    h200, t4 = node.gpus
    assert (h200.memory_mb, h200.bandwidth_mb_s, h200.power_w, h200.price_usd_s) == (141_000.0, 64_000.0, 700.0, 0.001)
    assert (t4.power_w, t4.type) == (9.0, "t4")
    assert node_to_mapping(node_from_mapping(node_to_mapping(node), 2)) == node_to_mapping(node)


def test_a_gpu_of_the_profile_s_own_type_keeps_what_was_measured() -> None:
    plain = node_from_mapping({}, 1, str(PROFILE))
    named = node_from_mapping({"gpu": {"type": "h200"}}, 1, str(PROFILE))
    other = node_from_mapping({"gpu": {"type": "t4"}}, 1, str(PROFILE))
    assert plain.gpus == named.gpus
    batch = tasks()
    assert (durations(batch, other).on_gpu(0) > durations(batch, plain).on_gpu(0)).all()


@pytest.mark.parametrize(
    ("physics", "sentence"),
    [
        ({"gpu": {"type": "h2000"}}, "There is no GPU type 'h2000'; did you mean 'h200'"),
        ({"gpu": {"type": 5}}, "must be the name of a GPU type"),
        ({"types": {"mine": {"memory_mb": 1.0}}}, "physics.types.mine needs memory_gb_s"),
        ({"types": {"h200": {"colour": 1}}}, "has no key 'colour'"),
        ({"types": {"h200": {"power_w": "much"}}}, "must be a number"),
        ({"types": {"h200": {"price_usd_h": -1.0}}}, "price_usd_h = -1 must be a finite number of at least 0"),
        ({"types": {"h200": 3}}, "must be a section"),
    ],
)
def test_a_type_that_cannot_be_is_refused(physics: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HmsError) as caught:
        node_from_mapping(physics, 1)
    assert sentence in str(caught.value)


def test_times_by_type_need_a_node_with_types() -> None:
    with pytest.raises(HmsError, match=r"The GPU times of 3 tasks are by type \(v100\).*--gpu-type v100"):
        durations(tasks(gpu_times=[[1.0]] * 3, gpu_types=["v100"]), Node())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"gpu_type": "v1000"}, "There is no GPU type 'v1000'"), ({"gpu_type": "v100"}, "no GPU times without a type")],
)
def test_a_traced_type_that_cannot_be_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(HmsError, match=sentence):
        load(DATA / "jobs.swf", options=options)


def test_a_device_s_name_tells_its_type() -> None:
    assert [type_in(name) for name in ("NVIDIA H200", "Tesla V100-SXM2-16GB", "Handmade GPU")] == ["h200", "v100", ""]
