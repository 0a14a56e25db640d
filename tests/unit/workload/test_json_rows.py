"""Tables in JSON, one object a line or an array of objects, are read like a CSV with the same columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA, fingerprint

JOBS = [
    {"job": "a", "in": 0, "run_s": 12.5, "gpus": 1, "after": [], "what": {"name": "fft"}},
    {"job": "b", "in": 5, "run_s": 3, "gpus": 2, "after": ["a"], "what": {"name": "sort"}},
    {"job": "c", "in": 7, "run_s": 4, "after": ["a", "b"]},
]
NAMES = {
    "task_id": "job",
    "arrival_time": "in",
    "duration": "run_s",
    "gpus_required": "gpus",
    "dependencies": "after",
    "kind": "what.name",
}
AS_CSV = "job,in,run_s,gpus,after,what.name\na,0,12.5,1,,fft\nb,5,3,2,a,sort\nc,7,4,,a;b,\n"
LINES = "\n\n".join(json.dumps(job) for job in JOBS)


@pytest.mark.parametrize("text", [LINES, LINES + "\n", json.dumps(JOBS), json.dumps(JOBS, indent=2)])
def test_json_rows_are_the_tasks_of_the_csv_with_the_same_columns(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(AS_CSV)
    (tmp_path / "x.jsonl").write_text(text)
    expected, found = (load(tmp_path / name, options={"map": NAMES}) for name in ("x.csv", "x.jsonl"))
    assert fingerprint(found) == fingerprint(expected)
    assert [found.kind_names[code] for code in found.kind] == ["fft", "sort", ""]


def test_an_own_table_in_json_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"arrival_time": 0, "gpu_time.v100": 2, "divisible": false}\n{"arrival_time": 1, "cpu_time": 3}\n')
    batch = load(path)
    assert batch.gpu_types == ("v100",)
    assert batch.divisible.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"job": "a", "run_s": 1}\n{"job": \n', "line 3: this is not JSON"),
        ('{"job": "a", "run_s": 1}\n{"job": "b", "run_s": "soon"}\n', "line 2: 'run_s' is 'soon'"),
        ('{"job": "a", "run_s": 1}\n[1]\n', "line 2: each task is a JSON object such as"),
        ('[\n {"job": "a", "run_s": 1},\n {"job": "b", "run_s": -1}\n]', "line 3: 'run_s' is '-1'"),
    ],
)
def test_a_bad_row_of_json_is_refused_with_its_line(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(HmsError, match=sentence):
        load(path, options={"map": {"task_id": "job", "duration": "run_s"}})


def test_unknown_columns_of_json_get_the_flags_that_map_them(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(LINES)
    with pytest.raises(HmsError, match="--map task_id=job --map duration=run_s --map gpus_required=gpus"):
        load(path)


def test_a_workflow_in_json_is_still_a_workflow(tmp_path: Path) -> None:
    document = json.loads((DATA / "workflow.json").read_text())
    path = tmp_path / "w.json"
    for indent in (None, 1):
        path.write_text(json.dumps(document, indent=indent))
        assert fingerprint(load(path)) == fingerprint(load(DATA / "workflow.json"))
