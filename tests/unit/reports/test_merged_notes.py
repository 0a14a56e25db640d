"""A report of many cells says each assumption once."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.reports.report_parts import merged_notes


def test_notes_that_differ_in_numbers_only_are_said_once_with_their_range() -> None:
    notes = [
        "scale: multiplied by 2.5 (load 0.5); the last of 60 on v100 at 4,809.78 s.",
        "other: nothing to see.",
        "scale: multiplied by 1.2e-05 (load 0.95); the last of 60 on v100 at 632 s.",
    ]
    assert merged_notes(notes) == [
        "scale: multiplied by 1.2e-05 to 2.5 (load 0.5 to 0.95); the last of 60 on v100 at 632 to 4,809.78 s. "
        "(2 cells differ in these numbers.)",
        "other: nothing to see.",
    ]
    assert merged_notes(notes[:2]) == notes[:2]
    assert merged_notes(["on v100: 1.", "on p100: 1."]) == ["on v100: 1.", "on p100: 1."], "a name is no number"


def test_the_pdf_of_a_sweep_says_an_assumption_of_all_cells_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.csv").write_text(
        "arrival_time,cpu_time\n" + "".join(f"{row},{row % 7 + 1}\n" for row in range(30))
    )
    plan = tmp_path / "sweep.toml"
    plan.write_text(
        f'[workload]\nfile = "{tmp_path / "jobs.csv"}"\n[schedulers]\nrace = ["greedy", "cpu_only"]\n'
        '[sweep]\n"workload.options.target_load" = [0.5, 0.7, 0.9]\n"physics.gpu.speed" = [1.0, 2.0]\n'
    )
    assert run(["sweep", str(plan), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    capsys.readouterr()
    pages = PdfReader(io.BytesIO((tmp_path / "out" / "report.pdf").read_bytes())).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert text.count("arrival times are multiplied by") == 1
    assert "target_load 0.5 to 0.9" in text
    assert "6 cells differ in these numbers" in text
