from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.unit.workload.comparing import DATA, REPOSITORY

PAGE = (REPOSITORY / "docs" / "workloads.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_python_of_the_page_runs(block: str) -> None:
    exec(compile(block, "workloads.md", "exec"), {})


def test_the_page_has_python_to_run() -> None:
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("arguments", [[], [str(DATA / "jobs.swf")]], ids=["its own tasks", "a trace"])
def test_the_example_describes_its_tasks(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = REPOSITORY / "examples" / "own_trace.py"
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    expected = "5 tasks, 1 edges, depth 2" if arguments else "4 tasks, 3 edges, depth 3"
    assert expected in printed
    assert ("assumed guessed_intensity" in printed) == bool(arguments)
    assert "assumed guessed_gpu_time" in printed


def test_the_page_names_every_preset_option_and_dialect() -> None:
    from dataclasses import fields

    from hybrid_ml_scheduler.workload import DIALECTS, PRESETS, TraceOptions, WorkloadParameters

    names = [*PRESETS, *DIALECTS, *(item.name for item in (*fields(TraceOptions), *fields(WorkloadParameters)))]
    assert [name for name in names if name not in PAGE] == []
    assert Path(REPOSITORY / "examples" / "own_trace.py").exists()
