"""Profiles on disk: what is written is what is read, and nothing else is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.hardware import read_profile, to_mapping, write_profile

REPOSITORY = Path(__file__).parents[3]
HANDMADE = REPOSITORY / "tests" / "data" / "cuda_profile.json"
H200 = REPOSITORY / "plans" / "hardware" / "h200.json"


@pytest.mark.parametrize("path", [HANDMADE, H200], ids=lambda path: path.stem)
def test_a_profile_survives_the_round_trip(path: Path, tmp_path: Path) -> None:
    profile = read_profile(path)
    write_profile(profile, tmp_path / "again.json")
    assert read_profile(tmp_path / "again.json") == profile
    assert [file.name for file in tmp_path.iterdir()] == ["again.json"]


def test_the_kept_profile_is_written_as_this_program_writes_it() -> None:
    assert to_mapping(read_profile(H200)) == json.loads(H200.read_text())


def test_a_folder_that_does_not_exist_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be written: No such file"):
        write_profile(read_profile(HANDMADE), tmp_path / "nowhere" / "p.json")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[1, 2]", "its `format` is not"),
        (b'{"format": "another program"}', "its `format` is not"),
        (b'{"format": "hybrid-ml-scheduler hardware profile"}', "profile version None"),
        (b'{"format": "hybrid-ml-scheduler hardware profile", "version": 2}', "profile version 2"),
    ],
)
def test_corrupt_and_foreign_files_are_refused(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(ProfileError, match=complaint) as caught:
        read_profile(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"There is no hardware profile .*hms profile"):
        read_profile(tmp_path / "none.json")
    with pytest.raises(ProfileError, match="cannot be read"):
        read_profile(tmp_path)


def first_point(found: dict[str, Any]) -> dict[str, Any]:
    point: dict[str, Any] = found["cpu"]["series"]["matmul"]["points"][0]
    return point


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda found: found.update(cpu=3), "cpu must be a section"),
        (lambda found: found.update(gpu=[]), "gpu must be a section"),
        (lambda found: found.pop("machine"), "machine must be a section"),
        (lambda found: found.update(notes="none"), "notes must be a list"),
        (lambda found: found["cpu"].update(series=None), "cpu.series must be a section"),
        (lambda found: found["cpu"]["series"].update(matmul=7), "cpu.series.matmul.points must be a list"),
        (lambda found: found["cpu"]["series"]["matmul"].update(axis="colour"), "axis must be one of"),
        (lambda found: found["cpu"]["series"]["matmul"]["points"].reverse(), "must grow in 'size'"),
        (lambda found: found["cpu"]["series"]["matmul"]["points"].insert(0, 5), r"points\[0\] must be a section"),
        (lambda found: first_point(found).update(median=0), r"points\[0\].median must be a number above 0"),
        (lambda found: first_point(found).update(median=float("nan")), "median must be a number above 0"),
        (lambda found: first_point(found).update(median="1"), "median must be a number above 0"),
        (lambda found: first_point(found).update(size=10**400), "size must be a number above 0"),
        (lambda found: first_point(found).update(iqr=-1), "iqr must be a number of at least 0"),
        (lambda found: first_point(found).update(repeats=True), "repeats must be a whole number"),
        (lambda found: found["gpu"]["readings"].update(launch=1e-5), "readings.launch must be a section"),
        (lambda found: found["gpu"]["facts"].update(count=None), "facts.count must be a number or a word"),
    ],
)
def test_a_damaged_profile_is_refused_naming_file_and_key(change: Any, complaint: str, tmp_path: Path) -> None:
    found = json.loads(HANDMADE.read_text())
    change(found)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(found))
    with pytest.raises(ProfileError, match=complaint) as caught:
        read_profile(path)
    assert str(path) in str(caught.value)
