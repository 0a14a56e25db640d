"""A figure of the physics acts on a trace, or it is refused or said for how many tasks it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run

HEAD = "task_id,size,compute_intensity,memory_required,arrival_time,cpu_time,gpu_time"


def plan_of(folder: Path, rows: list[str], physics: str) -> str:
    (folder / "tasks.csv").write_text("\n".join([HEAD, *rows]))
    text = (
        f'[workload]\nfile = "{folder / "tasks.csv"}"\n[physics]\n{physics}\n[schedulers]\nrace = ["earliest_device"]\n'
    )
    (folder / "plan.toml").write_text(text)
    return str(folder / "plan.toml")


MEASURED = [f"{row},100,0.5,50,{row},4,1" for row in range(4)]
HALF = [f"{row},100,0.5,50,{row},4," for row in range(3)]


@pytest.mark.parametrize(
    "physics", ["max_speedup = 8.0", 'speedup_law = "amdahl"', "[physics.gpu]\nbandwidth_mb_s = 1000"]
)
def test_a_figure_that_would_change_nothing_is_refused(
    physics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["race", "--plan", plan_of(tmp_path, MEASURED, physics)]) == 2
    said = capsys.readouterr().err
    assert "would change nothing: the times of all 4 tasks" in said
    assert said.count("\n") == 1


def test_it_acts_where_times_are_guessed_and_says_for_how_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = []
    for physics in ("max_speedup = 4.0", "max_speedup = 8.0"):
        assert (
            run(["race", "--plan", plan_of(tmp_path, [*HALF, "3,100,0.5,50,3,4,1"], physics), "--format", "json"]) == 0
        )
        found = json.loads(capsys.readouterr().out)
        times.append(found["schedulers"]["earliest_device"]["mean_time_s"])
    assert times[1] < times[0]
    assert "physics.max_speedup = 8 acts on 3 of 4 tasks; the times of the others are measured." in found["assumptions"]
