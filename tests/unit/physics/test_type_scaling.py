"""Scaling between types of GPU: measured tables, else tensor throughput and bandwidth; FP32 where a task says so."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES
from hybrid_ml_scheduler.physics.type_scaling import (
    FP32_ERROR,
    LLM_LAYERS_MS,
    TENSOR_ERROR,
    roofline_speeds,
    scaling_error,
    with_speed,
)
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping, node_to_mapping
from hybrid_ml_scheduler.plans.time_notes import time_notes, type_notes


def of_type(*names: str) -> Node:
    return node_from_mapping({"gpus": [{"type": name} for name in names]}, None)


def tasks(**columns: Any) -> TaskBatch:
    bare = {"size": [1000.0] * 3, "compute_intensity": [0.0, 0.5, 1.0], "memory_required": [0.0] * 3}
    return TaskBatch.from_columns(**{**bare, "arrival_time": [0.0] * 3, **columns})


def ratio(batch: TaskBatch, name: str) -> list[float]:
    return [float(one) for one in durations(batch, of_type(name)).on_gpu(0)]


def test_an_l4_is_clearly_slower_than_an_a100_for_timed_and_untimed_tasks() -> None:
    timed = tasks(gpu_times=[[1.0]] * 3, gpu_types=["a100"])
    assert min(ratio(timed, "l4")) > 2.5
    assert min(np.array(ratio(tasks(), "l4")) / ratio(tasks(), "a100")) > 2.5


def test_measured_llm_layers_give_the_ratio_of_types_that_the_table_has() -> None:
    stream, _, dense = ratio(tasks(gpu_times=[[1.0]] * 3, gpu_types=["a100"]), "h100")
    assert 1.0 / stream == pytest.approx(1.71, abs=0.01)
    assert 1.0 / dense == pytest.approx(3.40, abs=0.01)
    (note,) = time_notes(tasks(gpu_times=[[1.0]] * 3, gpu_types=["a100"]), of_type("h100"))
    assert "3 scaled from a100 by a table of measured times" in note
    assert "An a100 takes 2.4 (1.7 to 3.4) times as long as an h100, to within a factor of 1.2." in note


def test_the_stated_error_holds_the_measured_pairs_of_the_catalogue() -> None:
    for one, other in combinations([name for name in LLM_LAYERS_MS if name in GPU_TYPES], 2):
        dense, _, stream = roofline_speeds(GPU_TYPES[one], GPU_TYPES[other])
        (from_stream, from_dense), (to_stream, to_dense) = LLM_LAYERS_MS[one], LLM_LAYERS_MS[other]
        for measured, published in ((from_stream / to_stream, stream), (from_dense / to_dense, dense)):
            assert 1.0 / TENSOR_ERROR < measured / published < TENSOR_ERROR


def test_fp32_counts_only_where_a_task_says_so() -> None:
    batch = tasks(gpu_times=[[1.0]] * 3, gpu_types=["v100"], fp32=[True, True, True])
    fp32 = GPU_TYPES["v100"].fp32_tflops / GPU_TYPES["a100"].fp32_tflops
    assert ratio(batch, "a100")[2] == pytest.approx(fp32)
    assert ratio(tasks(gpu_times=[[1.0]] * 3, gpu_types=["v100"]), "a100")[2] == pytest.approx(112 / 312)
    assert "to within a factor of 2." in time_notes(batch, of_type("a100"))[0]


def test_a_job_whose_model_was_measured_is_scaled_by_that() -> None:
    kinds = {"kind": [1, 1, 2], "kind_names": ["", "ResNet-50 (batch size 64)", "mine"]}
    batch = tasks(gpu_times=[[1.0]] * 3, gpu_types=["v100"], fp32=[True] * 3, **kinds)
    first, second, other = ratio(batch, "k80")
    assert first == second == pytest.approx(6.70)
    assert other == pytest.approx(14.0 / 4.37)
    (note,) = time_notes(batch, of_type("k80"))
    assert "2 scaled from v100 by a table of measured times; 1 scaled from v100 by published figures" in note


def test_the_estimator_and_the_columns_agree_about_fp32() -> None:
    batch, node = tasks(fp32=[True, False, True]), of_type("a100", "t4")
    seconds, estimator = durations(batch, node), PhysicsEstimator(node)
    for row, task in enumerate(batch):
        assert [estimator.gpu_s(task, gpu) for gpu in range(2)] == [seconds.on_gpu(gpu)[row] for gpu in range(2)]


def test_another_speed_of_a_type_changes_scaled_times_alone() -> None:
    batch = tasks(gpu_times=[[1.0, np.nan], [1.0, 4.0], [1.0, np.nan]], gpu_types=["a100", "l4"])
    plain, faster = (
        durations(batch, node).on_gpu(0) for node in (of_type("l4"), with_speed(of_type("l4"), "l4", 1.25))
    )
    assert (faster / plain).tolist() == pytest.approx([0.8, 1.0, 0.8])
    assert (durations(batch, with_speed(of_type("a100"), "a100", 1.25)).on_gpu(0) == 1.0).all()
    untimed = [durations(tasks(), node).on_gpu(0) for node in (of_type("l4"), with_speed(of_type("l4"), "l4", 1.25))]
    assert (untimed[1] / untimed[0]).tolist() == pytest.approx([0.8] * 3)
    described = [durations(tasks(), node).on_gpu(0) for node in (of_type("p4"), with_speed(of_type("p4"), "p4", 1.25))]
    assert (described[0] == described[1]).all(), "nothing is scaled to the GPU that the formula describes"


def test_a_plan_keeps_the_speed_of_a_type() -> None:
    node = with_speed(of_type("l4", "a100"), "l4", 0.9)
    again = node_from_mapping(node_to_mapping(node), None)
    assert node_to_mapping(again) == node_to_mapping(node)
    assert (again.types[0].speed, again.gpus) == (0.9, node.gpus)


def test_the_error_is_small_only_between_types_with_tensor_cores() -> None:
    l4, a100, p4 = (GPU_TYPES[name] for name in ("l4", "a100", "p4"))
    assert scaling_error(l4, a100, fp32=False) == TENSOR_ERROR
    assert scaling_error(l4, a100, fp32=True) == scaling_error(p4, a100, fp32=False) == FP32_ERROR


def test_types_of_several_nodes_are_compared_with_the_one_that_was_measured() -> None:
    batch = tasks(gpu_times=[[1.0]] * 3, gpu_types=["a100"])
    assert type_notes(batch, [of_type("l4"), of_type("a100"), of_type("h100")]) == [
        "An a100 takes 2.4 (1.7 to 3.4) times as long as an h100, to within a factor of 1.2 (scaled for 3 of 3 tasks).",
        "An l4 takes 4.1 (2.6 to 6.4) times as long as an a100, to within a factor of 1.2 (scaled for 3 of 3 tasks).",
    ]
    assert type_notes(batch, [of_type("a100")]) == []
