"""Compiled code is made anew when, and only when, something it was made from has changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_ml_scheduler.core import compiled as source
from hybrid_ml_scheduler.core.compiled import MADE_FROM, sources_digest
from tests.architecture.source import Import, imported_room, imports, package_files

ROOMS = ("core", *MADE_FROM)
HEAD = "from hybrid_ml_scheduler.core.compiled import compiled\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one compiled function and one other file in every room."""
    for room in ROOMS:
        (tmp_path / room / "inner").mkdir(parents=True)
        (tmp_path / room / "inner" / "fast.py").write_text(f"@compiled()\ndef {room}(): ...\n", encoding="utf-8")
        (tmp_path / room / "plain.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "core" / "protocols.py").write_text("KIND = 0\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "renewed"),
    [
        ("physics/inner/fast.py", {"physics", "engine", "cluster", "schedulers", "training", "live", "execution"}),
        ("learning/inner/fast.py", {"learning", "engine", "cluster", "schedulers", "training", "execution"}),
        ("cluster/inner/fast.py", {"cluster", "training", "execution"}),
        ("training/inner/fast.py", {"training"}),
        ("core/protocols.py", set(MADE_FROM)),
        ("physics/plain.py", set()),
        ("core/plain.py", set()),
    ],
)
def test_a_change_reaches_exactly_the_rooms_that_compile_it_in(package: Path, changed: str, renewed: set[str]) -> None:
    before = {room: sources_digest.__wrapped__(package, room) for room in MADE_FROM}
    path = package / changed
    path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    after = {room: sources_digest.__wrapped__(package, room) for room in MADE_FROM}
    assert {room for room in MADE_FROM if before[room] != after[room]} == renewed


def test_code_on_disk_is_used_again_and_follows_a_change_in_another_room(tmp_path: Path) -> None:
    for room in ("core", "physics", "cluster"):
        (tmp_path / "hybrid_ml_scheduler" / room).mkdir(parents=True)
    package = tmp_path / "hybrid_ml_scheduler"
    (package / "__init__.py").touch()
    shutil.copy(source.__file__, package / "core" / "compiled.py")
    watts = package / "physics" / "power.py"
    watts.write_text(f"{HEAD}@compiled()\ndef watts():\n    return 100.0\n", encoding="utf-8")
    kernel = f"{HEAD}from hybrid_ml_scheduler.physics.power import watts\n"
    kernel += "@compiled()\ndef joules(seconds):\n    return seconds * watts()\n"
    (package / "cluster" / "kernel.py").write_text(kernel, encoding="utf-8")

    def joules() -> str:
        program = (
            "from hybrid_ml_scheduler.cluster.kernel import joules\n"
            "print(joules(2.0), 'kept' if joules.stats.cache_hits else 'made')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(tmp_path)},
        )
        return done.stdout.strip()

    assert [joules(), joules()] == ["200.0 made", "200.0 kept"]
    # Of another length: Python itself takes a file of the same length and second for the same.
    watts.write_text(watts.read_text(encoding="utf-8").replace("100.0", "3000.0"), encoding="utf-8")
    assert joules() == "6000.0 made"


def test_every_compiled_function_is_made_from_the_rooms_that_the_table_names() -> None:
    fast = {file.path: file for file in package_files() if "@compiled(" in file.text}
    del fast["core/compiled.py"]
    assert {file.room for file in fast.values()} == set(MADE_FROM)
    unnamed = {
        f"{file.path} is made from {item.module}"
        for file in fast.values()
        for item in imports(file)
        if {f"{place}.py" for place in places(item)} & fast.keys() and imported_room(item) not in MADE_FROM[file.room]
    }
    assert unnamed == set()


def places(item: Import) -> set[str]:
    """The files that an import may name, below the package."""
    below = item.module.split(".")[1:]
    return {"/".join(below), "/".join([*below, item.name or ""])}


def test_nothing_is_kept_on_disk_without_the_digest_of_its_sources() -> None:
    assert [file.path for file in package_files() if "cache=True" in file.text] == []
