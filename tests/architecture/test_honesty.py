"""No hidden chance, no hidden clock, no swallowed failure, no test that cannot fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache

from tests.architecture.source import SourceFile, dotted, imports, nodes, package_files, test_files

# A generator is made in one place; everywhere else its type may be named.
RANDOM_TYPES = {"Generator", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox"}
MAKES_GENERATORS = "core/reproducible.py"
MODEL_ROOMS = {"core", "physics", "workload", "cluster"}
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns"}
# Where any failure at all must become a message: the command line's top, the socket's loop, a user's own code, which
# may raise whatever its author wrote, and a command to the arena, whose failure belongs to whoever gave it. The
# writer's thread ends with its loop, and says why.
CATCHES_ALL = (
    "cli/main.py",
    "execution/errors.py",
    "api/*socket*.py",
    "schedulers/own_code.py",
    "live/commands.py",
    "live/run_state.py",
    "storage/write/writer.py",
)
BROAD = {"Exception", "BaseException"}
SKIPS = {"skip", "skipif", "xfail", "importorskip"}


@cache
def attributes(file: SourceFile) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of every attribute chain."""
    chains = (node for node in nodes(file) if isinstance(node, ast.Attribute))
    return tuple((node.lineno, name) for node in chains if (name := dotted(node)))


def global_randomness(file: SourceFile) -> Iterator[str]:
    for item in imports(file):
        taken = item.module == "numpy.random" and item.name not in RANDOM_TYPES
        if item.module.split(".")[0] == "random" or taken:
            yield f"{file.path}:{item.line} imports {item.module}.{item.name}"
    for line, name in attributes(file):
        parts = name.split(".")
        if parts[:2] in (["np", "random"], ["numpy", "random"]) and len(parts) == 3 and parts[2] not in RANDOM_TYPES:
            yield f"{file.path}:{line} uses {name}"


def broad_excepts(file: SourceFile) -> Iterator[str]:
    for node in nodes(file):
        caught: list[ast.expr | None] = []
        if isinstance(node, ast.ExceptHandler):
            caught = list(node.type.elts) if isinstance(node.type, ast.Tuple) else [node.type]
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("suppress"):
            caught = list(node.args)
        if any(item is None or dotted(item) in BROAD for item in caught):
            yield f"{file.path}:{getattr(node, 'lineno', 0)}"


def test_randomness_comes_from_named_streams_only() -> None:
    found = [use for file in package_files() if file.path != MAKES_GENERATORS for use in global_randomness(file)]
    assert found == []


def test_the_model_reads_no_wall_clock() -> None:
    found = [
        f"{file.path}:{line} uses {name}"
        for file in package_files()
        if file.room in MODEL_ROOMS
        for line, name in attributes(file)
        if (name.startswith("time.") and name[5:] in CLOCKS) or name.endswith((".now", ".utcnow"))
    ]
    found += [
        f"{file.path}:{item.line} imports time.{item.name}"
        for file in package_files()
        if file.room in MODEL_ROOMS
        for item in imports(file)
        if item.module == "time" and item.name in CLOCKS
    ]
    assert found == []


def test_nothing_catches_everything_but_the_outermost_loops() -> None:
    inner = [file for file in package_files() if not any(fnmatch(file.path, pattern) for pattern in CATCHES_ALL)]
    assert [place for file in inner for place in broad_excepts(file)] == []


def test_nothing_evaluates_text_as_code() -> None:
    found = [
        f"{file.path}:{node.lineno} calls {node.func.id}"
        for file in package_files()
        for node in nodes(file)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
    ]
    assert found == []


def test_nothing_is_left_unwritten() -> None:
    found = [
        f"{file.path}:{node.lineno}"
        for file in package_files()
        for node in nodes(file)
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    assert found == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    found = [
        f"{file.path}:{line} {name}"
        for file in test_files()
        for line, name in attributes(file)
        if name.split(".")[0] in ("pytest", "unittest") and name.split(".")[-1] in SKIPS
    ]
    assert found == []


def test_no_test_talks_to_a_mock() -> None:
    found = [
        f"{file.path}:{item.line}"
        for file in test_files()
        for item in imports(file)
        if item.module.startswith("unittest.mock") or (item.module == "unittest" and item.name == "mock")
    ]
    assert found == []
