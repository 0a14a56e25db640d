"""The judges themselves: each finds the fault it is there to find, and lets the innocent pass."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source import SourceFile, body_lines, functions, imports
from tests.architecture.test_honesty import broad_excepts, global_randomness
from tests.architecture.test_repository import HOSTS, MACHINE_PATH
from tests.architecture.test_rows import breaks_rows
from tests.architecture.test_shape import is_bare_participle, table_of_contents, unannotated


def file(path: str, text: str) -> SourceFile:
    return SourceFile(path=path, text=text, tree=ast.parse(text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/tasks.py", "from hybrid_ml_scheduler.physics import durations"),
        ("cluster/clock.py", "def f():\n    from hybrid_ml_scheduler.schedulers import greedy"),
        ("cluster/clock.py", "from ..workload import laws"),
        ("live/arena.py", "import hybrid_ml_scheduler.storage.connect.tables"),
        ("live/arena.py", "from hybrid_ml_scheduler import Task"),
        ("live/arena.py", "from hybrid_ml_scheduler.settings import Settings"),
    ],
)
def test_an_import_upwards_or_sideways_is_found(path: str, text: str) -> None:
    guilty = file(path, text)
    assert [breaks_rows(guilty, item) for item in imports(guilty)] == [True]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cluster/clock.py", "from ..physics import durations"),
        ("cluster/clock.py", "from . import queues"),
        ("cli/main.py", "from hybrid_ml_scheduler import __version__"),
        ("api/app.py", "from hybrid_ml_scheduler.settings import Settings"),
        ("__init__.py", "from hybrid_ml_scheduler.schedulers import Greedy"),
    ],
)
def test_an_import_downwards_passes(path: str, text: str) -> None:
    innocent = file(path, text)
    assert [breaks_rows(innocent, item) for item in imports(innocent)] == [False]


@pytest.mark.parametrize(
    "text", ["import random", "np.random.rand(3)", "np.random.default_rng(1)", "from numpy.random import normal"]
)
def test_a_global_generator_is_found(text: str) -> None:
    assert len(list(global_randomness(file("workload/laws.py", text)))) == 1


def test_naming_the_type_of_a_generator_passes() -> None:
    text = "def draw(rng: np.random.Generator) -> float:\n    return rng.random()"
    assert list(global_randomness(file("workload/laws.py", text))) == []


@pytest.mark.parametrize("caught", ["", " Exception", " (ValueError, BaseException)"])
def test_a_broad_except_is_found(caught: str) -> None:
    assert len(list(broad_excepts(file("live/arena.py", f"try:\n    f()\nexcept{caught}:\n    pass")))) == 1


def test_a_suppressed_everything_is_found_and_a_named_error_passes() -> None:
    assert len(list(broad_excepts(file("a.py", "with contextlib.suppress(Exception):\n    f()")))) == 1
    assert list(broad_excepts(file("a.py", "try:\n    f()\nexcept (OSError, ValueError):\n    pass"))) == []


def test_a_body_is_counted_without_its_docstring() -> None:
    tree = ast.parse('def f():\n    """One."""\n    a = 1\n\n    return a')
    assert [body_lines(function) for function in functions(tree)] == [3]


def test_a_missing_annotation_is_found() -> None:
    function = next(functions(ast.parse("def f(self, a, *, b: int, **rest): ...")))
    assert unannotated(function) == ["a", "rest", "return"]


def test_the_table_of_contents_is_read_from_imports_and_definitions() -> None:
    text = (
        "from typing import Any\nfrom hybrid_ml_scheduler.core import Task as Task\nX = 1\n_y = 2\ndef f() -> None: ..."
    )
    assert table_of_contents(ast.parse(text)) == {"Task", "X", "f"}


def test_a_machines_folder_is_told_from_a_web_path() -> None:
    folder = "/".join(["", "home", "somebody", "project"])
    assert MACHINE_PATH.search(f'open("{folder}")')
    assert not MACHINE_PATH.search("GET /api/models, src/work/list.py")
    assert all("." in host for host in HOSTS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def packed(tasks: list[int]) -> bytes: ...", True),
        ("def kept(name: str) -> bool: ...", True),
        ("def pack(tasks: list[int]) -> bytes: ...", False),
        ("def packed_tasks() -> bytes: ...", False),
        ("def read(path: str) -> bytes: ...", False),
        ("def finished(self, task: int) -> None: ...", False),
        ("@property\ndef failed(self) -> bool: ...", False),
    ],
)
def test_an_answer_named_by_a_bare_participle_is_found(text: str, found: bool) -> None:
    assert [is_bare_participle(one) for one in functions(ast.parse(text))] == [found]
