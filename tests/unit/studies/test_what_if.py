"""A changed run is the run of a strategy that really took the other decision; a regret is what that had saved."""

from __future__ import annotations

import json
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core import Decision, TaskBatch
from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, NOMINAL, Level
from hybrid_ml_scheduler.physics import Cpu, Gpu, Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.what_if import Runs, RunToChange, alternatives_of, changed_run, costliest, what_if
from hybrid_ml_scheduler.workload import generate, preset

COMPILED = ("round_robin", "random", "greedy", "oracle", "earliest_finish", "gpu_only")
FORMULA = Truth()
NODE = Node(gpus=(Gpu(), Gpu(speed=0.5)))


def tasks(count: int = 40, **values: object) -> TaskBatch:
    return generate(preset("mixed").with_values({"num_tasks": count, **values}), 7)


def to_change(
    name: str, batch: TaskBatch, node: Node, seed: int, level: Level = EXACT, truth: Truth = FORMULA
) -> RunToChange:
    known = KnownTasks(batch=batch, node=node, truth=truth, seed=seed)
    return RunToChange(make=lambda: create(name), known=known, level=level)


def same(one: RunColumns, other: RunColumns) -> bool:
    names = [item.name for item in fields(RunColumns) if item.name != "node"]
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("row", [0, 39])
def test_a_changed_run_equals_one_in_which_the_decision_was_really_taken(name: str, row: int) -> None:
    batch = tasks()
    run = to_change(name, batch, NODE, 3)
    runs = Runs(run)
    assert runs.is_compiled
    for decision in alternatives_of(batch.task(row), NODE)[::3]:
        stepped = changed_run(run, int(batch.task_id[row]), decision)
        assert same(runs.run_with(row, decision), stepped)


TYPED = Node(
    gpus=(Gpu(type="t4", dense_speed=1.5), Gpu(type="t4", dense_speed=1.5), Gpu(type="h200", dense_speed=12.0))
)


@pytest.mark.parametrize("name", ["greedy", "earliest_device", "round_robin"])
@pytest.mark.parametrize(
    ("width", "slots", "node"),
    [((1, 2), 1, NODE), ((1,), 3, NODE), ((1, 0), 1, NODE), ((1,), 1, NODE), ((1, 3, 0, 2), 2, TYPED)],
    ids=["gangs", "slots", "no GPU", "whole", "all with types"],
)
def test_every_kind_of_task_can_be_changed_to_the_last_byte(
    name: str, width: tuple[int, ...], slots: int, node: Node
) -> None:
    wide = np.resize(np.array(width), 40)
    whole = np.zeros(40, dtype=np.bool_)
    times = np.stack([np.linspace(0.1, 4.0, 40), np.linspace(0.05, 1.0, 40)], axis=1)
    for column in (wide, whole, times):
        column.flags.writeable = False
    batch = replace(tasks(), gpus_required=wide, divisible=whole)
    if node is TYPED:
        batch = replace(batch, gpu_times=times, gpu_types=("t4", "h200"))
    run = to_change(name, batch, replace(node, cpu=Cpu(slots=slots)), 0)
    runs = Runs(run)
    assert runs.is_compiled
    for row in range(20, 20 + len(width)):
        for decision in alternatives_of(batch.task(row), node)[:4]:
            assert same(runs.run_with(row, decision), changed_run(run, int(batch.task_id[row]), decision))


def test_the_decision_that_was_taken_changes_nothing() -> None:
    batch = tasks()
    runs = Runs(to_change("earliest_finish", batch, NODE, 0))
    taken = Decision(gpu_fraction=float(runs.base.gpu_fraction[5]), gpu=max(0, int(runs.base.gpu[5])))
    assert same(runs.run_with(5, taken), runs.base)


def test_a_bad_decision_is_regretted_by_the_task_and_by_those_behind_it() -> None:
    batch = TaskBatch.from_columns(
        size=[1000.0] * 3,
        compute_intensity=[1.0] * 3,
        memory_required=[0.0] * 3,
        arrival_time=[0.0] * 3,
        cpu_time=[10.0] * 3,
        gpu_time=[1.0] * 3,
        divisible=[False] * 3,
    )
    found = what_if(to_change("cpu_only", batch, Node(gpus=(Gpu(),)), 0), 0)
    (alternative,) = found.alternatives
    assert (alternative.device, alternative.latency_s) == ("gpu_0", 1.0)
    assert (alternative.latency_change_s, alternative.others_s) == (-9.0, -20.0)
    assert found.regret_s == 29.0


def test_graphs_noise_and_learners_are_stepped() -> None:
    batch = tasks(25, dependency_probability=0.4, noise_sigma=0.2)
    found = what_if(to_change("earliest_device", batch, Node(), 1), int(batch.task_id[3]))
    assert len(found.alternatives) >= 16
    learner = what_if(to_change("hybrid_ml", tasks(12), Node(gpus=(Gpu(),)), 1), 4)
    assert np.isfinite(learner.regret_s)


@pytest.mark.parametrize("name", ["sjf", "min_min", "size_split"])
def test_a_strategy_that_holds_goes_on_around_the_prescribed_task(name: str) -> None:
    batch = tasks(30, arrival_rate=40.0)
    run = to_change(name, batch, NODE, 0)
    runs = Runs(run)
    row = int(np.argmax(runs.base.latency_s))
    found = what_if(run, int(batch.task_id[row]))
    assert len(found.alternatives) >= 8
    other = runs.run_with(row, Decision(gpu_fraction=1.0, gpu=1))
    assert (other.gpu[row], other.gpu_fraction[row]) == (1, 1.0)
    assert np.isfinite(other.finish_s).all()


@pytest.mark.parametrize("level", [NOMINAL, LEARNED])
def test_a_strategy_that_is_not_told_the_truth_is_stepped_with_its_own_belief(level: Level) -> None:
    batch = tasks(30, kinds=3, noise_sigma=0.1)
    run = to_change("earliest_finish", batch, NODE, 0, level, Truth(kind_spread=0.5))
    runs = Runs(run)
    assert not runs.is_compiled
    taken = Decision(gpu_fraction=float(runs.base.gpu_fraction[5]), gpu=max(0, int(runs.base.gpu[5])))
    assert same(runs.run_with(5, taken), runs.base)


def test_the_costliest_decisions_come_first() -> None:
    batch = tasks(60)
    found = costliest(to_change("random", batch, NODE, 2), 5, 30)
    assert [one.regret_s for one in found] == sorted((one.regret_s for one in found), reverse=True)
    assert found[0].regret_s > 0.0


def test_alternatives_are_only_where_the_task_can_run() -> None:
    task = tasks().task(0)._replace(divisible=False)
    for one, shares in (
        (task, {0.0, 1.0}),
        (task._replace(gpu_only=True), {1.0}),
        (task._replace(gpus_required=0), {0.0}),
    ):
        assert {decision.gpu_fraction for decision in alternatives_of(one, NODE)} == shares


def test_all_alternatives_of_a_long_run_take_little_time() -> None:
    batch, node = tasks(10_000), Node()
    what_if(to_change("earliest_device", tasks(10), node, 0), 0)
    began = time.process_time()  # a busy machine is not its doing
    whole = replace(batch, divisible=np.zeros(len(batch), dtype=np.bool_))
    assert len(what_if(to_change("earliest_device", whole, node, 0), 5_000).alternatives) == 4
    assert time.process_time() - began < 5.0  # under a second on a quiet machine


def test_a_task_that_is_not_there_is_refused() -> None:
    with pytest.raises(WorkloadError, match="no task 999 in this run; its tasks are numbered 0 to 39"):
        what_if(to_change("greedy", tasks(), NODE, 0), 999)


def test_the_command_explains_a_plan_and_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[workload]\npreset = "mixed"\nnum_tasks = 60\n[schedulers]\nrace = ["greedy", "oracle"]\n')
    assert run(["explain", str(plan), "--task", "7", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scheduler"], found["tasks"][0]["task_id"]) == ("greedy", 7)
    assert run(["race", "--plan", str(plan), "--out", str(tmp_path / "race")]) == 0
    capsys.readouterr()
    assert run(["explain", str(tmp_path / "race"), "--scheduler", "greedy", "--task", "7", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert run(["explain", str(plan), "--worst", "3", "--looked-at", "20"]) == 0
    assert "tasks with the longest latency were looked at" in capsys.readouterr().out
    assert run(["explain", str(plan), "--worst", "1", "--looked-at", "900", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["looked_at"] == 60  # never more tasks than there are
    assert run(["explain", str(plan), "--scheduler", "oracle", "--task", "1"]) == 0
    printed = capsys.readouterr().out
    assert "Task 1 of oracle" in printed
    assert " any of gpu_" in printed, "GPUs on which all would go alike share a row"
    shares = [line for line in printed.splitlines() if "(50% on the GPU)" in line]
    assert len(shares) == len({tuple(line.split()[-4:]) for line in shares}), "no two rows say the same"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--task", "999"], "no task 999"),
        (["--task", "1", "--scheduler", "none"], "no strategy 'none' in this run"),
    ],
)
def test_what_cannot_be_explained_gets_one_sentence(
    flags: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[workload]\npreset = "mixed"\nnum_tasks = 20\n')
    assert run(["explain", str(plan), *flags]) == 2
    assert sentence in capsys.readouterr().err
