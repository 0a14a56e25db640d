"""What is kept in the repository works on any machine."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tests.architecture.source import REPOSITORY
from tests.toml_text import read_toml

# Written in pieces, so that this file does not contain what it looks for.
HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("download", "pytorch", "org"),
    )
)
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:work|root|Users|home/\w+|opt/pypi)/")


def kept_files() -> list[Path]:
    """Every file that git keeps or would keep."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [path for name in names if (path := REPOSITORY / name).is_file()]


def text_of(path: Path) -> str:
    """A file's text; nothing for a picture or another binary file."""
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def shell_scripts() -> list[Path]:
    return [path for path in kept_files() if path.suffix == ".sh" or text_of(path).startswith("#!/usr/bin/env bash")]


def pins() -> dict[str, str]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normal(name): version for name, version in pairs}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_file_names_a_package_registry() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)} contains {host}"
        for path in kept_files()
        for host in HOSTS
        if host in text_of(path)
    ]
    assert found == [], "a package-lock.json is written without hosts by omit-lockfile-registry-resolved=true in .npmrc"


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}: {match.group()}"
        for path in kept_files()
        for match in MACHINE_PATH.finditer(text_of(path))
    ]
    assert found == []


@pytest.mark.parametrize("script", shell_scripts(), ids=lambda path: path.name)
def test_a_shell_script_is_well_formed(script: Path) -> None:
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert checked.stderr == ""
    assert checked.returncode == 0


@pytest.mark.parametrize("name", ["run_tests.sh", "run_live_dashboard.sh", ".ci/run"])
def test_a_command_can_be_run_and_stops_at_the_first_failure(name: str) -> None:
    script = REPOSITORY / name
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text()


def test_every_dependency_is_pinned_to_one_version_without_cuda() -> None:
    project = read_toml((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    names = {normal(re.split(r"[\[<>=;! ]", item)[0]) for item in wanted}
    unpinned = names - set(pins()) - {"hybrid-ml-scheduler", "tomli"}  # tomli is for a Python without tomllib
    assert unpinned == set()
    assert [name for name in pins() if re.search(r"nvidia|cuda|triton", name)] == []


def test_what_is_installed_is_what_is_pinned() -> None:
    installed = {normal(item.name): item.version.split("+")[0] for item in metadata.distributions()}
    other = {name: (version, installed[name]) for name, version in pins().items() if name in installed}
    assert {name: pair for name, pair in other.items() if pair[0] != pair[1]} == {}
