"""The first file of one's own: what other programs write is read, said aloud, or refused in a sentence with a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import run_batch, summarize
from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.core.protocols import BatchRule, RuleKind
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import load, write_csv
from hybrid_ml_scheduler.workload.mapping import suggested_map


def read(path: Path, text: str, **names: str) -> TaskBatch:
    path.write_text(text, encoding="utf-8")
    return load(path, options={"map": names})


@pytest.mark.parametrize(
    ("cells", "seconds", "said"),
    [
        (("2026-01-02T03:04:05Z", "2026-01-02T04:04:06+01:00"), [0.0, 1.0], "2026-01-02 03:04:05 UTC"),
        (("2026-01-02 03:04:05.250", "2026-01-02 03:04"), [0.0, 5.25], "2026-01-02 03:04:00."),
        (("2026/1/2 03:04:05", "2026/1/3"), [0.0, 75355.0], "2026-01-02 03:04:05."),
        (("1767322800", "1767322805"), [0.0, 5.0], "read as seconds since 1970; time 0 is the first, 2026-01-02"),
        (("1767322800000", "1767322800250"), [0.0, 0.25], "read as milliseconds since 1970"),
        (("90", "30.5"), [30.5, 90.0], ""),
        (("2 min", "1:30"), [90.0, 120.0], ""),
    ],
)
def test_arrivals_are_read_as_they_are_written_elsewhere(
    cells: tuple[str, str], seconds: list[float], said: str, tmp_path: Path
) -> None:
    batch = read(tmp_path / "x.csv", f"t,d\n{cells[0]},1\n{cells[1]},1\n", arrival_time="t", duration="d")
    assert batch.arrival_time.tolist() == seconds
    assert said in " ".join(batch.assumptions)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("run_ms", 1e-3),
        ("run ms", 1e-3),
        ("runMs", 1e-3),
        ("run_minutes", 60.0),
        ("run_h", 3600.0),
        ("ms", 1.0),
        ("run_s", 1.0),
        ("claims", 1.0),
        ("run_m", 1.0),
    ],
)
def test_a_unit_in_the_name_of_a_mapped_column_counts(name: str, factor: float, tmp_path: Path) -> None:
    batch = read(tmp_path / "x.csv", f"t,{name}\n0,250\n1,500\n", arrival_time="t", duration=name)
    assert batch.cpu_time.tolist() == pytest.approx([250 * factor, 500 * factor])
    assert ("by its name" in " ".join(batch.assumptions)) is (factor != 1.0)
    batch = read(
        tmp_path / "y.csv",
        f"{name},d,mem_gb\n0,1,2\n10,1,4\n",
        arrival_time=name,
        duration="d",
        memory_required="mem_gb",
    )
    assert batch.arrival_time.tolist() == pytest.approx([0.0, 10 * factor])
    assert batch.memory_required.tolist() == [2000.0, 4000.0]


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("83", 83.0),
        ("83s", 83.0),
        ("1.5 h", 5400.0),
        ("250ms", 0.25),
        ("1:23:45", 5025.0),
        ("2:05", 125.0),
        ("2-03:04:05", 183845.0),
        ('"1,234.5"', 1234.5),
        ("1 day 00:00:01", None),
        ("soon", None),
        ("-5s", None),
    ],
)
def test_durations_are_read_as_they_are_written_elsewhere(cell: str, seconds: float | None, tmp_path: Path) -> None:
    path, text = tmp_path / "x.csv", f"t,d\n0,{cell}\n1,7\n"
    if seconds is None and cell != "1 day 00:00:01":
        with pytest.raises(HmsError, match=r"x\.csv, line 2: 'd' is"):
            read(path, text, duration="d")
        return
    assert read(path, text, duration="d").cpu_time.tolist() == [86_401.0 if seconds is None else seconds, 7.0]


def test_a_spreadsheet_with_semicolons_and_decimal_commas_is_read(tmp_path: Path) -> None:
    text = '\ufeff"Job";"in";"Dauer";"mem"\r\n"a";"0";"12,5";"4 GB"\r\n"b";"1";"1.234,5";"512 MiB"\r\n;;;\r\n'
    batch = read(tmp_path / "x.csv", text, task_id="Job", arrival_time="in", duration="Dauer", memory_required="mem")
    assert batch.cpu_time.tolist() == [12.5, 1234.5]
    assert batch.memory_required.tolist() == [4000.0, 536.870912]
    assert batch.task_id.tolist() == [0, 1]


@pytest.mark.parametrize("mark", ["\t", "|", ";", ","])
def test_a_job_log_gives_cpu_jobs_gangs_and_open_jobs_their_meaning(mark: str, tmp_path: Path) -> None:
    rows = ["job,sub,start,end,gpus", "a,5,10,70,2", "b,0,10,40,0", "c,7,10,,1", "d,9,10,20,1.0"]
    names = {"task_id": "job", "arrival_time": "sub", "duration": "end-start", "gpus_required": "gpus"}
    path = tmp_path / "x.csv"
    path.write_text("\n".join(rows).replace(",", mark))
    batch = load(path, options={"map": names, "divisible": 0})
    assert batch.gpus_required.tolist() == [0, 2, 1], "in order of arrival, without the job that has not ended"
    assert np.array_equal(batch.cpu_time, [30.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(batch.gpu_time, [np.nan, 60.0, 10.0], equal_nan=True)
    assert not batch.divisible.any()
    said = " ".join(batch.assumptions)
    for words in (
        "1 of 4 rows without a duration left out",
        "(line 4)",
        "(2 tasks)",
        "(1 task)",
        "1 of 3 tasks without a GPU",
    ):
        assert words in said
    rule = BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.ones(3))
    run = run_batch(batch, Node(), rule)
    assert run.gpu_fraction.tolist() == [0.0, 1.0, 1.0], "what needs no GPU runs on the CPU, whatever is decided"
    assert run.cpu_s.tolist() == [30.0, 0.0, 0.0]
    assert summarize(run).failed_count == 0


def test_names_of_tasks_serve_as_dependencies(tmp_path: Path) -> None:
    text = "name,d,after\nprep,1,\ntrain,2,prep\neval,3,prep;train\n"
    batch = read(tmp_path / "x.csv", text, task_id="name", duration="d", dependencies="after")
    assert [task.dependencies for task in batch] == [(), (0,), (0, 1)]
    with pytest.raises(HmsError, match="line 3: 'after' is 'prepare', and no task is called 'prepare'"):
        read(tmp_path / "x.csv", text.replace("2,prep\n", "2,prepare\n"), task_id="name", dependencies="after")


@pytest.mark.parametrize(
    ("ours", "meant"),
    [
        ("gpus", "gpus_required"),
        ("num_gpus", "gpus_required"),
        ("gpus_requird", "gpus_required"),
        ("runtime", "duration"),
        ("submit_time", "arrival_time"),
        ("memory", "memory_required"),
        ("id", "task_id"),
    ],
)
def test_a_name_that_a_task_does_not_have_gets_the_right_one(ours: str, meant: str, tmp_path: Path) -> None:
    with pytest.raises(HmsError, match=f"has no column '{ours}'; did you mean '{meant}'"):
        read(tmp_path / "x.csv", "x\n1\n", **{ours: "x"})


def test_a_foreign_header_is_answered_with_the_flags_that_would_map_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("JobID;Submit;Elapsed;Queue\n1;2;3;4\n")
    with pytest.raises(HmsError) as caught:
        load(path)
    assert str(caught.value).endswith("--map task_id=JobID --map arrival_time=Submit --map duration=Elapsed.")


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("t,d\n2026-01-02T03:04:05Z,1\nyesterday,1\n", {"arrival_time": "t"}, "line 3: 't' is 'yesterday'"),
        ("t,d\n2026-01-02T03:04:05Z,1\n2026-01-02T03:04:05,1\n", {"arrival_time": "t"}, "line 3.*some have none"),
        ("t,d\n01/02/2026 03:04,1\n", {"arrival_time": "t"}, "neither a number of seconds nor a date-time"),
        ("t,d\n2026-13-02T03:04:05Z,1\n", {"arrival_time": "t"}, "is not a date-time"),
        ("t,d\n0,NA\n1,\n", {}, "no row has a duration"),
        (",,\n,,\n", {}, "nothing in it but empty columns"),
        ("t,d,g\n0,1,-2\n", {"gpus_required": "g"}, "line 2: 'g' is '-2'"),
        ("t,d,g\n0,1,0.5\n", {"gpus_required": "g"}, "line 2: 'g' is '0.5'"),
        ("t,d,cpu_time\n0,1,5\n", {}, "has a column 'cpu_time' too"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(
    text: str, names: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(HmsError, match=sentence):
        read(tmp_path / "x.csv", text, duration="d", **names)


def test_columns_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("arrival_time,cpu_time,gpu_time,gpus_required\n0,5,2,0\n")
    with pytest.raises(HmsError, match="line 2: gpus_required is 0 and gpu_time is '2', which contradict"):
        load(path)
    path.write_text("arrival_time,cpu_time,gpus_required,divisible\n0,5,0,yes\n")
    with pytest.raises(HmsError, match="task 0 needs no GPU and is called divisible"):
        load(path)
    path.write_bytes("arrival_time,cpu_time\n0,5\n".encode("utf-16"))
    with pytest.raises(HmsError, match="the text is UTF-16; save it as UTF-8"):
        load(path)


def test_a_suggested_flag_can_be_typed_where_a_column_has_a_name_of_two_words() -> None:
    assert suggested_map(["sent at", "run_s", "Submit"]) == "--map duration=run_s --map arrival_time=Submit"
    assert suggested_map(["Submit Time", "run_s"]) == "--map 'arrival_time=Submit Time' --map duration=run_s"


def test_errors_quote_a_mapped_column_as_the_file_has_it(tmp_path: Path) -> None:
    names = {"duration": "run_ms", "memory_required": "mem_gb", "arrival_time": "in"}
    good = "in,run_ms,mem_gb\n0,250,2\n"
    for row, sentence in (
        ("1,-250,2", "line 3: 'run_ms' is '-250', which is not a finite number of at least 0"),
        ("1,250,-2", "line 3: 'mem_gb' is '-2', which is not"),
        ("then,250,2", "line 3: 'in' is 'then', which is neither"),
    ):
        with pytest.raises(HmsError, match=sentence):
            read(tmp_path / "x.csv", f"{good}{row}\n", **names)
    with pytest.raises(HmsError, match="line 4: 'run_ms' is 'x'"):
        read(tmp_path / "x.csv", f"{good}1,,2\n2,x,2\n", **names)


@pytest.mark.parametrize("cell", ["0;3", "0 3", "0|3", '"0, 3"', '"[0, 3]"', "0; 3"])
def test_parents_may_be_parted_by_semicolons(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"task_id,arrival_time,cpu_time,dependencies\n0,0,1,\n3,0,0,0\n5,0,1,{cell}\n4,0,1,\n3000,0,1,\n")
    batch = load(path)
    assert batch.task(2).dependencies == (0,), "task 3 took no time, and its children inherit its parents"
    path.write_text(path.read_text().replace("3,0,0,0", "3,0,2,0"))
    assert load(path).task(3).dependencies == (0, 3)


def test_the_ids_of_the_file_stay_beside_the_numbers(tmp_path: Path) -> None:
    text = "job,t,d,after\nlate,9,1,first\nfirst,0,2,\nopen,1,,\nmid,5,3,first;late\n"
    names = {"task_id": "job", "arrival_time": "t", "duration": "d", "dependencies": "after"}
    batch = read(tmp_path / "x.csv", text, **names)
    assert batch.labels == ("first", "mid", "late"), "in order of arrival, without the job that has not ended"
    assert batch.label(1) == "mid"
    write_csv(batch, tmp_path / "own.csv")
    again = load(tmp_path / "own.csv")
    assert again.labels == batch.labels
    assert again.take(slice(1, 3)).labels == ("mid", "late")
    assert again.select(np.array([2, 0])).labels == ("late", "first")
    assert load(tmp_path / "own.csv", limit=1).labels == ("first",)
    numbered = read(tmp_path / "y.csv", "job,d\n17,1\n5,2\n", task_id="job", duration="d")
    assert (numbered.task_id.tolist(), numbered.labels, numbered.label(0)) == ([5, 17], (), "5")
    (tmp_path / "z.csv").write_text("arrival_time,cpu_time,task_label\n0,1,a\n1,1,a\n")
    with pytest.raises(HmsError, match="line 3: task_label a occurs a second time"):
        load(tmp_path / "z.csv")
