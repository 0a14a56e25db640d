"""Compiled code is forgotten when, and only when, something it was made from has changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_ml_scheduler.core.compiled import forget_stale_code

ROOMS = ("core", "learning", "physics", "cluster", "schedulers", "training")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one compiled function in every room, and its compiled code on disk."""
    for room in ROOMS:
        (tmp_path / room / "__pycache__").mkdir(parents=True)
        (tmp_path / room / "fast.py").write_text(f"@njit\ndef {room}(): ...\n", encoding="utf-8")
        (tmp_path / room / "plain.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "core" / "protocols.py").write_text("KIND = 0\n", encoding="utf-8")
    forget_stale_code(tmp_path)
    compile_all(tmp_path)
    return tmp_path


def compile_all(package: Path) -> None:
    for room in ROOMS[1:]:
        for end in ("nbi", "nbc"):
            (package / room / "__pycache__" / f"fast.{room}.{end}").write_bytes(b"code")


def compiled(package: Path) -> set[str]:
    return {path.parent.parent.name for path in package.glob("*/__pycache__/*.nb[ic]")}


def test_unchanged_sources_keep_their_code(package: Path) -> None:
    assert forget_stale_code(package) == []
    assert compiled(package) == set(ROOMS[1:])


@pytest.mark.parametrize(
    ("changed", "forgotten"),
    [
        ("physics/fast.py", {"physics", "cluster", "schedulers", "training"}),
        ("learning/fast.py", {"learning", "schedulers", "training"}),
        ("cluster/fast.py", {"cluster", "training"}),
        ("training/fast.py", {"training"}),
        ("core/protocols.py", {"learning", "physics", "cluster", "schedulers", "training"}),
        ("physics/plain.py", set()),
        ("core/plain.py", set()),
    ],
)
def test_a_change_reaches_exactly_the_rooms_that_compile_it_in(
    package: Path, changed: str, forgotten: set[str]
) -> None:
    path = package / changed
    path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert set(forget_stale_code(package)) == forgotten
    assert compiled(package) == set(ROOMS[1:]) - forgotten
    compile_all(package)
    assert forget_stale_code(package) == []


def test_code_of_unknown_origin_is_not_trusted(package: Path) -> None:
    (package / "cluster" / "__pycache__" / "compiled.digest").unlink()
    assert forget_stale_code(package) == ["cluster"]


def test_a_fresh_checkout_has_nothing_to_forget(package: Path) -> None:
    for path in package.glob("*/__pycache__/*"):
        path.unlink()
        path.parent.rmdir() if not any(path.parent.iterdir()) else None
    assert forget_stale_code(package) == []
    compile_all(package)
    assert forget_stale_code(package) == []


def test_a_package_that_cannot_be_written_is_left_alone(package: Path) -> None:
    """Where the stamp cannot be kept, compiled code is not kept here either."""
    (package / "cluster" / "__pycache__" / "compiled.digest").unlink()
    (package / "cluster" / "__pycache__" / "compiled.digest").mkdir()
    assert "cluster" not in forget_stale_code(package)


def test_importing_the_core_checks_the_package_itself() -> None:
    program = (
        "import pathlib, hybrid_ml_scheduler.core as core\n"
        "rooms = pathlib.Path(core.__file__).parent.parent\n"
        "from hybrid_ml_scheduler.core.compiled import forget_stale_code\n"
        "print(forget_stale_code(rooms))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
