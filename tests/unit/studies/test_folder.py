"""A results folder is whole or says that it is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.studies.folder import INCOMPLETE, ResultsFolder
from hybrid_ml_scheduler.studies.folder_files import write_whole

PLAN = {"simulation": {"seed": 1}}


def make(path: Path) -> ResultsFolder:
    return ResultsFolder.create(path, kind="heavy", plan=PLAN)


def test_a_new_folder_is_marked_incomplete_before_anything_else(tmp_path: Path) -> None:
    folder = make(tmp_path / "r")
    assert (folder.path / INCOMPLETE).is_file()
    assert not folder.is_complete
    folder.complete()
    assert not (folder.path / INCOMPLETE).exists()
    assert ResultsFolder.open(folder.path).is_complete


def test_a_folder_that_cannot_be_made_is_named_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HmsError) as refused:
        make(tmp_path / "file" / "r")
    assert str(refused.value) == f"The results folder {tmp_path / 'file' / 'r'} cannot be written (Not a directory)."


def test_a_phase_that_fails_is_not_done(tmp_path: Path) -> None:
    folder = make(tmp_path / "r")

    def fail() -> None:
        with folder.phase("simulate"):
            folder.write_bytes("a", b"1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not ResultsFolder.open(folder.path).is_done("simulate")


def test_a_phase_whose_file_was_changed_or_lost_is_not_done(tmp_path: Path) -> None:
    folder = make(tmp_path / "r")
    with folder.phase("simulate"):
        folder.write_bytes("tables/a.csv", b"1")
    assert ResultsFolder.open(folder.path).is_done("simulate")
    (folder.path / "tables/a.csv").write_bytes(b"2")
    assert not folder.is_done("simulate")
    (folder.path / "tables/a.csv").unlink()
    assert not folder.is_done("simulate")


def test_redoing_a_phase_of_a_finished_folder_marks_it_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "r")
    folder.complete()
    with folder.phase("plots"):
        assert (folder.path / INCOMPLETE).is_file()
    assert not folder.is_complete


def test_another_plan_or_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "r")
    with pytest.raises(PlanError, match="another plan"):
        ResultsFolder.create(tmp_path / "r", kind="heavy", plan={"simulation": {"seed": 2}})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(PlanError, match="not empty"):
        make(tmp_path / "mine")
    assert [item.name for item in (tmp_path / "mine").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": 1}'])
def test_a_broken_status_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    with pytest.raises(HmsError, match="status"):
        ResultsFolder.open(tmp_path)


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(HmsError, match="cannot be written"):
        write_whole(tmp_path / "a" / "b", b"below a file")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"scheduler": ["a", "b"], "x": [1 / 3, float("nan")]})
    found = []
    for name in ("one", "two"):
        folder = make(tmp_path / name)
        folder.write_table("t", frame)
        found.append([(folder.path / f"tables/t.{suffix}").read_bytes() for suffix in ("csv", "parquet")])
    assert found[0] == found[1]
    pd.testing.assert_frame_equal(ResultsFolder.open(tmp_path / "one").read_table("t"), frame)


def test_status_names_each_file_of_a_phase(tmp_path: Path) -> None:
    folder = make(tmp_path / "r")
    with folder.phase("simulate"):
        folder.write_json("run.json", {"a": 1})
    assert set(json.loads((folder.path / "status.json").read_text())["phases"]["simulate"]) == {"run.json"}


def test_a_start_that_was_cut_short_can_be_made_again(tmp_path: Path) -> None:
    whole = make(tmp_path / "whole").path
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / ".INCOMPLETE.17.part").write_text("This fol")
    for name in (INCOMPLETE, "plan.json"):
        (begun / name).write_bytes((whole / name).read_bytes())
        (begun / ".status.json.17.part").write_text("{")
        make(begun)
        assert sorted(os.listdir(begun)) == sorted(os.listdir(whole))
        (begun / "status.json").unlink()
        (begun / "plan.json").unlink()


def test_a_plan_that_this_program_did_not_put_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(PlanError, match="not empty"):
        make(tmp_path)
    assert os.listdir(tmp_path) == ["plan.json"]


def test_work_that_is_refused_before_it_has_a_result_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for path in (tmp_path / "new" / "r", tmp_path / "mine"):
        with pytest.raises(PlanError), make(path):
            raise PlanError("There is no cluster.")
    assert [item.name for item in tmp_path.iterdir()] == ["mine"]
    assert list((tmp_path / "mine").iterdir()) == []
    ResultsFolder.create(tmp_path / "mine", kind="heavy", plan={"simulation": {"seed": 2}})


def test_results_and_what_an_interrupt_leaves_are_kept(tmp_path: Path) -> None:
    folder = make(tmp_path / "some")
    folder.write_json("cells/1.json", {"took": "hours"})
    with pytest.raises(PlanError), folder:
        raise PlanError("Another cell is wrong.")
    with pytest.raises(KeyboardInterrupt), make(tmp_path / "stopped"):
        raise KeyboardInterrupt
    with pytest.raises(PlanError), make(tmp_path / "stopped"):
        raise PlanError("It is not this command that began the folder.")
    for path in (tmp_path / "some", tmp_path / "stopped"):
        assert (path / INCOMPLETE).is_file()
        assert ResultsFolder.open(path).plan == PLAN
