"""Units of names and times since 1970 count for every way in which a number may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.workload import load
from hybrid_ml_scheduler.workload.mapping import suggested_map


def read(path: Path, text: str, **names: str) -> TaskBatch:
    path.write_text(text, encoding="utf-8")
    return load(path, options={"map": names})


def said(batch: TaskBatch) -> str:
    return " ".join(batch.assumptions)


def test_the_unit_of_a_name_counts_for_decimal_commas_and_thousands(tmp_path: Path) -> None:
    text = "in;Run Minutes;memGB\n0;2,283;1,5\n1;3;2\n2;1.234,5;4 MB\n3;90s;1\n"
    names = {"arrival_time": "in", "duration": "Run Minutes", "memory_required": "memGB"}
    batch = read(tmp_path / "x.csv", text, **names)
    assert batch.cpu_time.tolist() == pytest.approx([136.98, 180.0, 74_070.0, 90.0])
    assert batch.memory_required.tolist() == pytest.approx([1500.0, 2000.0, 4.0, 1000.0])
    batch = read(tmp_path / "y.csv", 'in,run_ms\n0,"1,234.5"\n1,500\n', arrival_time="in", duration="run_ms")
    assert batch.cpu_time.tolist() == pytest.approx([1.2345, 0.5])


def test_a_unit_that_no_cell_is_without_is_not_announced(tmp_path: Path) -> None:
    batch = read(tmp_path / "x.csv", "in,run_ms\n0,2s\n1,3s\n", arrival_time="in", duration="run_ms")
    assert batch.cpu_time.tolist() == [2.0, 3.0]
    assert "by its name" not in said(batch)


@pytest.mark.parametrize(
    ("per_second", "unit"),
    [(1, "seconds"), (1_000, "milliseconds"), (1_000_000, "microseconds"), (1_000_000_000, "nanoseconds")],
)
@pytest.mark.parametrize("suffix", ["", "_ms"])
def test_a_duration_between_two_times_since_1970_has_their_unit(
    per_second: int, unit: str, suffix: str, tmp_path: Path
) -> None:
    if suffix and unit != "milliseconds":
        return  # the name says milliseconds
    begins = [1_700_000_000 * per_second, 1_700_000_064 * per_second]
    rows = [f"{begin},{begin + seconds * per_second}" for begin, seconds in zip(begins, (8, 16), strict=True)]
    text = "\n".join([f"start{suffix},end{suffix}", *rows])
    batch = read(tmp_path / "x.csv", text, duration=f"end{suffix}-start{suffix}", arrival_time=f"start{suffix}")
    assert batch.arrival_time.tolist() == pytest.approx([0.0, 64.0])
    assert batch.cpu_time.tolist() == pytest.approx([8.0, 16.0])
    if not suffix and per_second > 1:
        assert f"duration is read from {unit} since 1970" in said(batch)


def test_a_duration_between_columns_takes_decimal_commas(tmp_path: Path) -> None:
    batch = read(tmp_path / "x.csv", "a;b\n1,5;4\n2;3,25\n", duration="b-a", arrival_time="a")
    assert batch.cpu_time.tolist() == [2.5, 1.25]


def test_a_job_that_has_one_time_since_1970_and_a_zero_is_refused(tmp_path: Path) -> None:
    text = "start,end\n1700000000000,1700000004000\n0,1700000009000\n"
    with pytest.raises(HmsError, match=r"x\.csv, line 3: end - start is 1700000009000 - 0"):
        read(tmp_path / "x.csv", text, duration="end-start")
    batch = read(tmp_path / "x.csv", text.replace("1700000009000", "0"), duration="end-start")
    assert batch.cpu_time.tolist() == [4.0], "a job that never ran took no time"


def test_times_since_1970_may_have_decimal_commas(tmp_path: Path) -> None:
    text = "in;d\n1700000000,123;1\n1700000002,5;1\n1700000001;1\n"
    batch = read(tmp_path / "x.csv", text, arrival_time="in", duration="d")
    assert batch.arrival_time.tolist() == pytest.approx([0.0, 0.877, 2.377])
    assert "epoch: arrival_time is read as seconds since 1970" in said(batch)


def test_a_suggestion_knows_names_with_units_and_two_times() -> None:
    assert suggested_map(["Submit Epoch", "Run Minutes", "MemGB"]) == (
        "--map 'arrival_time=Submit Epoch' --map 'duration=Run Minutes' --map memory_required=MemGB"
    )
    assert suggested_map(["id", "start", "end"]) == "--map task_id=id --map duration=end-start --map arrival_time=start"
    both = suggested_map(["start", "end", "submitted"])
    assert both == "--map arrival_time=submitted --map duration=end-start"
