"""Overload is named by device, from the work that only this device can do; idle or balanced nodes say nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.plans.overload import device_loads, overload_words
from hybrid_ml_scheduler.workload import generate, preset

TASKS = 200
SIZES = {"small": 1, "big": 4}


def stream(*, every_s: float, cpu_s: float, gpu_s: float, gpus: int) -> TaskBatch:
    ones = np.ones(TASKS)
    return TaskBatch.from_columns(
        size=ones,
        compute_intensity=ones,
        memory_required=ones,
        arrival_time=np.arange(TASKS) * every_s,
        cpu_time=cpu_s * ones,
        gpu_time=gpu_s * ones,
        gpus_required=np.full(TASKS, gpus),
        divisible=np.zeros(TASKS, dtype=bool),
    )


def said(batch: TaskBatch, node: Node) -> str | None:
    return overload_words(batch, node, durations(batch, node))


def test_work_that_only_the_cpu_can_do_is_named_with_its_seconds() -> None:
    drowned = stream(every_s=0.5, cpu_s=2.9, gpu_s=0.1, gpus=0)
    assert said(drowned, Node()) == ("the CPU is overloaded: 5.8 s of work that only it can do arrive per second.")
    assert said(stream(every_s=0.5, cpu_s=0.4, gpu_s=0.1, gpus=0), Node()) is None


def test_the_same_work_overloads_no_cpu_if_gpus_can_do_it() -> None:
    assert said(stream(every_s=0.5, cpu_s=2.9, gpu_s=0.1, gpus=1), Node()) is None


def test_a_node_whose_devices_cannot_keep_up_together_says_how_far() -> None:
    words = said(stream(every_s=0.1, cpu_s=100.0, gpu_s=4.0, gpus=1), Node())
    assert words is not None
    assert words.startswith("the CPU and 4 GPUs are overloaded: together they need 9.9")


def test_tasks_that_all_arrive_at_once_have_no_load() -> None:
    batch = stream(every_s=0.0, cpu_s=100.0, gpu_s=4.0, gpus=1)
    assert device_loads(batch, Node(), durations(batch, Node())) is None


@pytest.mark.parametrize(("name", "is_overloaded"), [("mixed", False), ("light", False), ("heavy", True)])
def test_the_presets_are_overloaded_where_their_rate_says_so(name: str, is_overloaded: bool) -> None:
    batch = generate(preset(name).with_values({"num_tasks": 2000}), 0)
    assert (said(batch, Node()) is not None) == is_overloaded


def test_a_load_of_50_does_not_pass_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "\n".join(
        f"{i + 1} {i * 60} 0 {100 + i} 1 0 0 1 {200 + i} 0 1 {i % 3} 1 {i % 4} 0 0 -1 -1" for i in range(60)
    )
    (tmp_path / "log.swf").write_text(f"; Version: 2.2\n{jobs}\n")
    words = ["race", "--workload", str(tmp_path / "log.swf"), "--seeds", "1", "--scheduler", "sjf"]
    assert run([*words, "--option", "target_load=50"]) == 0
    assert "Warning: the CPU and 4 GPUs are overloaded" in capsys.readouterr().out
    assert run([*words, "--option", "target_load=0.5"]) == 0
    assert "Warning" not in capsys.readouterr().out


def test_a_sweep_says_how_many_points_are_overloaded_and_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "grid.toml").write_text(
        '[workload]\npreset = "mixed"\nnum_tasks = 40\n[schedulers]\nrace = ["greedy"]\n'
        '[sweep]\n"workload.arrival_rate" = [5.0, 200.0]\n'
    )
    assert run(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    said = capsys.readouterr().err
    assert (
        "Warning: 1 of 2 points of the grid are overloaded; workload.arrival_rate = 200.0: the CPU and 4 GPUs" in said
    )


def test_recommend_names_the_node_that_is_overloaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = "".join(f'[[node]]\nname = "{name}"\ngpus = {gpus}\nprice_usd_h = 1.0\n' for name, gpus in SIZES.items())
    (tmp_path / "nodes.toml").write_text(nodes)
    words = ["recommend", "--workload", "unknown", "--tasks", "300", "--nodes", str(tmp_path / "nodes.toml")]
    assert run([*words, "--target", "p95_latency < 2 s", "--scheduler", "sjf", "--seeds", "3"]) == 0
    said = capsys.readouterr().err
    assert "Warning: node small: the CPU and 1 GPU are overloaded" in said
    assert "node big" not in said
