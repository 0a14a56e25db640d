from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.workload import files, load
from tests.unit.workload.comparing import DATA

OWN = "task_id,size,compute_intensity,memory_required,arrival_time,dependencies"
GOOD = "0,100,0.5,10,0,[]"


def refusal(path: Path, **how: Any) -> str:
    with pytest.raises(HmsError) as caught:
        load(path, **how)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    assert str(path) in sentence
    return sentence


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,nan,0.5,10,1,[]", "line 3: size is 'nan', which is not a finite number above 0"),
        ("1,-5,0.5,10,1,[]", "line 3: size is '-5', which is not a finite number above 0"),
        ("1,0,0.5,10,1,[]", "line 3: size is '0'"),
        ("1,inf,0.5,10,1,[]", "line 3: size is 'inf'"),
        ("1,1e300,0.5,10,1,[]", r"line 3: size is '1e300', which is not at most 1e\+12"),
        ("1,1e-300,0.5,10,1,[]", "line 3: size is '1e-300', which is not at least 1e-12"),
        ("1,100,0.5,1e13,1,[]", "line 3: memory_required is '1e13', which is not at most"),
        ("1,100,0.5,10,1e13,[]", "line 3: arrival_time is '1e13', which is not at most"),
        ("1,1_000,0.5,10,1,[]", "line 3: size is '1_000'"),
        ("1,,0.5,10,1,[]", "line 3: size is ''"),
        ("1,big,0.5,10,1,[]", "line 3: size is 'big'"),
        ("1,100,1.5,10,1,[]", r"line 3: compute_intensity is '1.5', which is not a finite number within \[0, 1\]"),
        ("1,100,-0.1,10,1,[]", "line 3: compute_intensity is '-0.1'"),
        ("1,100,NaN,10,1,[]", "line 3: compute_intensity is 'NaN'"),
        ("1,100,0.5,-10,1,[]", "line 3: memory_required is '-10', which is not a finite number of at least 0"),
        ("1,100,0.5,1e999,1,[]", "line 3: memory_required is '1e999'"),
        ("1,100,0.5,10,-1,[]", "line 3: arrival_time is '-1'"),
        ("1,100,0.5,10,nan,[]", "line 3: arrival_time is 'nan'"),
        ("one,100,0.5,10,1,[]", "line 3: task_id is 'one', which is not a whole number of at least 0"),
        ("1.5,100,0.5,10,1,[]", "line 3: task_id is '1.5'"),
        ("-1,100,0.5,10,1,[]", "line 3: task_id is '-1'"),
        ("99999999999999999999,100,0.5,10,1,[]", "line 3: task_id is '99999999999999999999'"),
        ("0,100,0.5,10,1,[]", r"line 3: task_id 0 occurs a second time \(first on line 2\)"),
        ("1,100,0.5,10,1,[1]", "line 3: task 1 depends on itself"),
        ("1,100,0.5,10,1,[7]", "line 3: task 1 depends on task 7, which does not exist"),
        ('1,100,0.5,10,1,"[0, 0]"', "line 3: task 1 names a parent twice"),
        ("1,100,0.5,10,1,0;x", "line 3: dependencies is '0;x', which is not a list of task ids such as"),
        ("1,100,0.5,10,1,[0", "line 3: dependencies is"),
        ("1,100,0.5,10,1,[true]", "line 3: dependencies is"),
        ("1,100,0.5,10,1,[0.0]", "line 3: dependencies is"),
        ("1,100,0.5,10,1,(0)", "line 3: dependencies is"),
        ("1,100,0.5,10,1,__import__('os').getpid()", "line 3: dependencies is"),
        ("1,100,0.5,10,1," + "[" * 100_000, "line 3: dependencies is"),
        ("1,100,0.5,10,1", "line 3: 5 columns where 6 are expected"),
        ("1,100,0.5,10,1,[],7", "line 3: 7 columns where 6 are expected"),
        ('1,100,0.5,10,1,"[]', "line 3: this is not comma-separated text"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_reason(row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{OWN}\n{GOOD}\n{row}\n")
    assert re.search(f"tasks.csv, {reason}", refusal(path))


def test_the_line_counts_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"\n{OWN}\n\n{GOOD}\n\n\n1,x,0.5,10,1,[]\n")
    assert "line 7: size is 'x'" in refusal(path)


@pytest.mark.parametrize("column", ["cpu_time", "gpu_time", "gpu_time.v100", "duration_factor"])
@pytest.mark.parametrize("cell", ["-1", "nan", "inf", "fast"])
def test_a_bad_measured_time_is_refused(column: str, cell: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{OWN},{column}\n{GOOD},{cell}\n")
    assert f"line 2: {column} is '{cell}', which is not a finite number" in refusal(path)


def test_a_file_of_nothing_but_zero_seconds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{OWN},cpu_time\n{GOOD},0\n")
    assert "every task in it takes 0 seconds" in refusal(path)
    path.write_text(f"{OWN},cpu_time,gpu_time\n{GOOD},0,2\n")
    assert "line 2: one of its times is 0 and another is not" in refusal(path)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"duraton": "run_s"}, "a task has no column 'duraton'; did you mean 'duration'?"),
        ({"duration": "runs"}, "the column 'runs' is missing; did you mean 'run_s'?"),
        ({"cpu_time": "run_s", "size": "cpu_time"}, "is missing"),
        ({"cpu_time": "run_s", "gpu_time": "run_s"}, "--map names the file's column 'run_s' for two columns of a task"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(names: dict[str, str], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.csv"
    path.write_text("start,run_s\n0,3\n")
    with pytest.raises(HmsError) as caught:
        load(path, options={"map": names})
    if "size" not in names:
        assert sentence in str(caught.value)


def test_a_mapping_goes_with_a_csv_only(tmp_path: Path) -> None:
    with pytest.raises(HmsError, match=r"--map renames columns of a CSV, and .* is read as swf"):
        load(DATA / "jobs.swf", dialect="swf", options={"map": {"duration": "run"}})


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full"])
def test_a_file_without_end_is_refused_before_memory_is_full(name: str) -> None:
    assert "this is not text" in refusal(Path(name))


def test_text_beyond_the_limit_is_refused_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1_000)
    plain, packed = tmp_path / "long.csv", tmp_path / "bomb.csv.gz"
    plain.write_text("x" * 1_001)
    packed.write_bytes(gzip.compress(b"x" * 1_000_000))
    for path in (plain, packed):
        assert "holds more than" in refusal(path)


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("divisible", "perhaps", "line 2: divisible is 'perhaps', which is neither yes nor no"),
        ("gpus_required", "-1", "line 2: gpus_required is '-1', which is not a whole number of at least 0"),
        ("gpus_required", "-2", "line 2: gpus_required is '-2'"),
        ("deadline", "0", "line 2: deadline is '0', which is not a finite number above 0"),
        ("gpu_time.v100", "-1", "line 2: gpu_time.v100 is '-1', which is not a finite number"),
        ("gpu_time.", "1", "the column 'gpu_time.' names no GPU type"),
        ("gpu_time.V 100", "1", "the column 'gpu_time.V 100' names no GPU type"),
        ("gpus_required,divisible", "2,yes", "task 0 needs 2 GPUs at once and is called divisible"),
    ],
)
def test_a_bad_trait_is_refused(column: str, cell: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{OWN},{column}\n{GOOD},{cell}\n")
    assert reason in refusal(path)


@pytest.mark.parametrize("missing", OWN.split(",")[:5])
def test_a_missing_column_is_named(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(",".join(name for name in OWN.split(",") if name != missing) + "\n1,0.5,1,0,[]\n")
    assert f"the column '{missing}' is missing" in refusal(path)


def test_a_misspelt_or_doubled_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{OWN},cpu_tme\n{GOOD},1\n")
    assert "the column 'cpu_tme' is not known; did you mean 'cpu_time'?" in refusal(path)
    path.write_text(f"{OWN},size\n{GOOD},1\n")
    assert "line 1: the column 'size' stands twice in the header" in refusal(path)


def test_a_cycle_is_refused_with_its_ids(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    rows = ["0,1,0.5,1,0,[]", '1,1,0.5,1,1,"[0, 3]"', "2,1,0.5,1,2,[1]", "3,1,0.5,1,3,[2]"]
    path.write_text("\n".join([OWN, *rows]))
    sentence = refusal(path)
    assert "in a cycle" in sentence
    assert all(identity in sentence for identity in "123")


@pytest.mark.parametrize("notes", ["1", "[1]", "{", '"text"', "[" * 100_000])
def test_assumptions_that_are_not_sentences_are_refused(notes: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    cell = notes.replace('"', '""')
    path.write_text(f'{OWN},assumptions\n{GOOD},"{cell}"\n')
    assert "line 2: assumptions is not a JSON array" in refusal(path)


def test_files_that_are_not_there_or_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    assert "there is no such file" in refusal(path)
    assert "this is a directory" in refusal(tmp_path)
    for empty in (b"", b" \n\n", b"\xef\xbb\xbf", gzip.compress(b"")):
        path.write_bytes(empty)
        assert "the file is empty" in refusal(path)
    path.write_text(OWN + "\n")
    assert "there is no task in it" in refusal(path)
    path.write_bytes(f"{OWN}\n{GOOD}\n1,\xff".encode("latin-1"))
    assert "line 3: the text is not UTF-8" in refusal(path)
    path.write_bytes(bytes(range(256)))
    refusal(path)


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(f"{OWN}\n{GOOD}\n".encode() * 50)
    path = tmp_path / "tasks.csv.gz"
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0xFF
    for damaged in (packed[:-4], packed[: len(packed) // 2], bytes(flipped), b"\x1f\x8b", packed[:-8] + b"\0" * 8):
        path.write_bytes(damaged)
        assert "the gzip data is damaged" in refusal(path)


@pytest.mark.parametrize("text", ["hello\nworld\n", "a,b,c\n1,2,3\n", "<html></html>", "\x01\x02", ",,,\n", '"'])
def test_a_file_of_no_known_dialect_is_refused_with_the_known_ones(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    told = refusal(path)
    assert "no known dialect (csv, swf, wfformat, gavel, philly, azure_llm, openb, openb_requests)" in told
    assert "--map duration=run_s" in told


def changed(sample: str, old: str, new: str, tmp_path: Path) -> Path:
    text = (DATA / sample).read_text()
    assert old in text
    path = tmp_path / sample
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("sample", "old", "new", "reason"),
    [
        ("philly.csv", "66.0,1,66.0", "-66.0,1,66.0", "line 2: duration is '-66.0'"),
        ("philly.csv", "66.0,1,66.0", "nan,1,66.0", "line 2: duration is 'nan'"),
        ("philly.csv", "66.0,1,66.0", "66.0,0,66.0", "line 2: num_gpus is '0'"),
        ("philly.csv", "66.0,1,66.0", "66.0,1,67.0", "line 2: gpu_time is '67.0', which is not duration times"),
        ("philly.csv", "66.0,1,66.0,", "66.0,1,66.0,,", "line 2: 6 columns where 5 are expected"),
        ("philly.csv", "2017-10-11 23:59:59", "now", "line 5: timestamp is 'now'"),
        ("philly.csv", "2017-10-11 23:59:59", "2017-13-11 23:59:59", "line 5: timestamp is"),
        ("philly.csv", "2017-10-11 23:59:59", "2017-02-29 23:59:59", "line 5: timestamp is"),
        ("philly.csv", "2017-10-11 23:59:59", "2017-10-11 24:59:59", "line 5: timestamp is"),
        ("philly.csv", "2017-10-11 23:59:59", "", "line 5: timestamp is ''"),
        ("philly.csv", "num_gpus,", "gpus,", "the column 'num_gpus' is missing"),
        ("azure_llm.csv", "5000,15", "5000,-1", "line 2: GeneratedTokens is '-1'"),
        ("azure_llm.csv", "5000,15", "5e3,15", "line 2: ContextTokens is '5e3'"),
        ("azure_llm.csv", "2023-11-16 18:17:04", "2023-11-16T18:17:04Z", "line 3: TIMESTAMP is"),
        ("azure_llm.csv", "ContextTokens", "Prompt", "the column 'ContextTokens' is missing"),
        ("openb_pods.csv", "pod-1", "pod-0", r"line 3: name pod-0 occurs a second time \(first on line 2\)"),
        ("openb_pods.csv", "150,360,160", "150,159,160", "line 3: deletion_time is '159', which is not at or after"),
        ("openb_pods.csv", "150,360,160", "x,360,160", "line 3: creation_time is 'x'"),
        ("openb_pods.csv", "150,360,160", "150,,160", "line 3: deletion_time is ''"),
        ("openb_pods.csv", "1,460", "1,0", "line 3: gpu_milli is '0'"),
        ("openb_pods.csv", "1,460", "1,1460", "line 3: gpu_milli is '1460'"),
        ("openb_pods.csv", "12288", "-1", "line 3: memory_mib is '-1'"),
        ("openb_pods.csv", "6000", "nan", "line 3: cpu_milli is 'nan'"),
        ("jobs.swf", "     50 ", "    -50 ", "line 5: run is '-50'"),
        ("jobs.swf", "     50 ", "    nan ", "line 5: run is 'nan'"),
        ("jobs.swf", "     50 ", "        ", "line 5: 17 columns where 18 are expected"),
        ("jobs.swf", "     50 ", "  50  1 ", "line 5: 19 columns where 18 are expected"),
        ("jobs.swf", "    2     30", "    1     30", r"line 5: job 1 occurs a second time \(first on line 4\)"),
        ("jobs.swf", "    2     30", "    2     -1", "line 5: submit is '-1'"),
        ("jobs.swf", " 2 10\n", " 4 10\n", "line 8: job 4 depends on itself"),
        ("jobs.swf", " 2 10\n", " 77 10\n", "line 8: job 4 depends on job 77, which does not exist"),
        ("workflow.json", '"schemaVersion": "1.5"', '"schemaVersion": "1.3"', "schemaVersion is '1.3'"),
        ("workflow.json", '"schemaVersion": "1.5",', '"schemaVersion": "1.5"', "line 5: this is not JSON"),
        ("workflow.json", '"execution"', '"executions"', "'execution' is missing"),
        ("workflow.json", '"runtimeInSeconds": 10,', '"runtimeInSeconds": NaN,', "'left' has runtimeInSeconds = nan"),
        ("workflow.json", '"runtimeInSeconds": 10,', '"runtimeInSeconds": -1,', "'left' has runtimeInSeconds = -1"),
        ("workflow.json", '"runtimeInSeconds": 10,', '"runtimeInSeconds": "1",', "'left' has runtimeInSeconds = '1'"),
        ("workflow.json", '"runtimeInSeconds": 10,', "", "'left' has runtimeInSeconds = None"),
        ("workflow.json", '"avgCPU": 180.0', '"avgCPU": -1', "'left' has avgCPU = -1"),
        (
            "workflow.json",
            '"id": "fork", "parents": []',
            '"id": "fork", "parents": ["fork"]',
            "'fork' depends on itself",
        ),
        (
            "workflow.json",
            '"parents": ["left", "right"]',
            '"parents": ["up"]',
            "'join' depends on task 'up', which does not",
        ),
        ("workflow.json", '"parents": ["left", "right"]', '"parents": 5', "'parents' is not an array"),
        ("workflow.json", '"children": ["join"]', '"children": ["fork"]', "'left' names 'fork' as a child"),
        ("workflow.json", '"id": "right", "runtime', '"id": "rigth", "runtime', "'right' is specified but has no exec"),
        ("workflow.json", '"id": "right", "runtime', '"id": "left", "runtime', "the id 'left' occurs more than once"),
        (
            "workflow.json",
            '"inputFiles": ["a"]',
            '"inputFiles": ["b"]',
            "'left' uses the file 'b', which is not listed",
        ),
        ("workflow.json", '"sizeInBytes": 2500000', '"sizeInBytes": -1', "'a' has sizeInBytes = -1"),
    ],
)
def test_a_bad_trace_is_refused_with_file_place_and_reason(
    sample: str, old: str, new: str, reason: str, tmp_path: Path
) -> None:
    path = changed(sample, old, new, tmp_path)
    assert re.search(reason, refusal(path))


def test_a_duration_beyond_all_machines_is_refused_by_line(tmp_path: Path) -> None:
    path = changed("philly.csv", "66.0,1,66.0", "1.7e308,1,1.7e308", tmp_path)
    assert "line 2: duration is '1.7e308', which is not at most 1e+12" in refusal(path)


def test_a_cycle_in_a_workflow_is_refused_with_its_names(tmp_path: Path) -> None:
    document = json.loads((DATA / "workflow.json").read_text())
    tasks = {task["id"]: task for task in document["workflow"]["specification"]["tasks"]}
    tasks["fork"]["parents"] = ["join"]
    tasks["join"]["children"] = ["fork"]
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps(document))
    sentence = refusal(path)
    assert "in a cycle" in sentence
    assert "fork" in sentence
    assert "join" in sentence


def test_traces_without_a_usable_row_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.swf"
    path.write_text("; only a comment\n")
    assert "there is no task in it" in refusal(path)
    path.write_text("1 0 0 -1 1 -1 -1 1 1 -1 0 1 1 -1 -1 -1 -1 -1\n")
    assert "no job has a run time" in refusal(path)
    header = (DATA / "openb_pods.csv").read_text().splitlines()[0]
    path.write_text(f"{header}\np,1,1,1,1000,,BE,Pending,5,9,\n")
    assert "no pod was ever scheduled" in refusal(path)
    path.write_text('{"schemaVersion": "1.5", "workflow": {"specification": {"tasks": []}, "execution": {}}}')
    assert "there is no task in it" in refusal(path)
    for odd in ("[]", "[" * 100_000, '{"schemaVersion": ' + "9" * 5000 + "}"):
        path.write_text(odd)
        refusal(path)


def test_a_forced_dialect_that_does_not_fit_is_refused() -> None:
    for dialect in ("csv", "swf", "wfformat", "azure_llm", "openb"):
        refusal(DATA / "philly.csv", dialect=dialect)
    refusal(DATA / "jobs.swf", dialect="philly")
