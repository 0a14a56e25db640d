"""Who may import whom: a room sees lower rows and itself, nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.source import PACKAGE, Import, SourceFile, imported_room, imports, package_files

ROWS = (
    ("core",),
    ("learning", "physics"),
    ("engine",),
    ("schedulers", "cluster", "workload", "hardware"),
    ("plans",),
    ("training", "live", "storage", "execution"),
    ("studies",),
    ("service", "reports"),
    ("cli", "api"),
)
LEVEL = {room: level for level, row in enumerate(ROWS) for room in row}
# The table of contents and `python -m hybrid_ml_scheduler` stand above all rooms; settings are read at the edges only.
ABOVE_ALL = {"__init__", "__main__"}
READS_SETTINGS = ("cli/", "api/app.py", "api/openapi.py", "api/server.py", "settings.py")
# The one command that starts the application.
STARTS_API = "cli/commands/serve.py"

BARE_ROOMS = {"core", "physics", "engine", "workload", "cluster", "hardware", "execution"}
# What these rooms may import where it is used.
LATE = {"hardware": {"torch"}, "execution": {"torch", "ray", "joblib"}}
BARE_LIBRARIES = {"numpy", "numba", "llvmlite"}  # numba stands on llvmlite
HEAVY = ("torch", "sklearn", "matplotlib", "ray", "pandas", "pyarrow", "reportlab", "scipy")


def where(file: SourceFile, item: Import) -> str:
    return f"{file.path}:{item.line} imports {item.module}" + (f".{item.name}" if item.name else "")


def breaks_rows(file: SourceFile, item: Import) -> bool:
    room = imported_room(item)
    if room is None or file.room in ABOVE_ALL or room == file.room:
        return False
    if room == "api" and file.path == STARTS_API:
        return False
    if room == "settings":
        return not file.path.startswith(READS_SETTINGS)
    if room == "":
        return item.name != "__version__"
    if file.room == "settings":
        return room not in ("core", "storage")
    return LEVEL[room] >= LEVEL[file.room]


def test_every_room_has_its_row() -> None:
    rooms = {file.room for file in package_files()}
    assert rooms - ABOVE_ALL - {"settings"} <= set(LEVEL)


def test_a_room_imports_only_lower_rows_and_itself() -> None:
    broken = [where(file, item) for file in package_files() for item in imports(file) if breaks_rows(file, item)]
    assert broken == []


def test_the_bare_rooms_need_numpy_and_numba_only() -> None:
    allowed = BARE_LIBRARIES | set(sys.stdlib_module_names) | {PACKAGE.name}
    broken = []
    for file in package_files():
        for item in imports(file) if file.room in BARE_ROOMS else ():
            library = item.module.split(".")[0]
            late = item.in_function and library in LATE.get(file.room, ())
            if library not in allowed and not late:
                broken.append(where(file, item))
    assert broken == []


def test_storage_and_live_meet_only_where_the_application_is_put_together() -> None:
    meeting = [
        file.path
        for file in package_files()
        if {"storage", "live"} <= {imported_room(item) for item in imports(file)}
        and not file.path.startswith(("cli/", "api/app.py", "service/", "__init__"))
    ]
    assert meeting == []


def light_modules() -> list[str]:
    """What must load at once: the table of contents and, from the day it exists, the command line."""
    command_line = PACKAGE / "cli" / "main.py"
    return [PACKAGE.name, *([f"{PACKAGE.name}.cli.main"] if command_line.is_file() else [])]


@pytest.mark.parametrize("module", light_modules())
def test_loading_it_loads_no_heavy_library(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
