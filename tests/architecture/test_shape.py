"""Small files, short functions, sentences and types on everything public."""

from __future__ import annotations

import ast
import importlib
import re
import statistics
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tests.architecture.source import (
    NAME,
    Function,
    SourceFile,
    body_lines,
    functions,
    nodes,
    package_files,
    test_files,
)

LONGEST_FILE = 400
MEDIAN_FILE = 130
BODY_P95 = 25
LARGEST_ROOM = 30
SHORTEST_FILE = 40
MIGRATIONS = "storage/connect/migrations/"
PROGRAMS = {"api/openapi.py", "studies/fork_server.py"}  # `python -m` and the workers' server start them
MOST_METHODS = 20
MOST_PARAMETERS, MOST_COMPILED_PARAMETERS = 8, 16
VAGUE_WORDS = {"Manager", "Helper", "Util", "Utils", "Service", "Handler", "Base", "Info"}
# Words that end like a participle and are none, and participles that do not end in "ed".
NO_PARTICIPLES = {"embed", "feed", "need", "read", "seed", "speed"}
PARTICIPLES = {
    "built", "drawn", "found", "given", "held", "kept", "known", "made", "seen", "sent", "shown", "taken", "told",
    "written",
}  # fmt: skip
DECORATORS = {"compiled"}  # a decorator reads as a word before the function
VAGUE_FILES = {"utils", "util", "helpers", "helper", "legacy", "tmp"}


def public_definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | Function]:
    """Public classes, functions and methods; what stands inside a function is nobody's business."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)
        elif isinstance(node, ast.If):
            yield from public_definitions([*node.body, *node.orelse])


def public(file: SourceFile) -> Iterator[ast.ClassDef | Function]:
    return public_definitions(file.tree.body)


def is_overload(node: ast.ClassDef | Function) -> bool:
    return any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list)


def unannotated(function: Function) -> list[str]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    named = [*positional, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]
    bare = [item.arg for item in named if item.annotation is None and item.arg not in ("self", "cls")]
    return bare + ([] if function.returns is not None else ["return"])


def test_no_file_is_longer_than_400_lines() -> None:
    long = {file.path: file.lines for file in (*package_files(), *test_files()) if file.lines > LONGEST_FILE}
    assert long == {}


def test_no_room_and_no_folder_of_one_holds_more_than_thirty_files() -> None:
    folders = Counter(file.path.rpartition("/")[0] for file in package_files())
    assert {folder: count for folder, count in folders.items() if count > LARGEST_ROOM} == {}


def may_be_short(path: str) -> bool:
    """A strategy, a reader, a plot, a migration and a program are files of their own, however short."""
    folders = ("schedulers/rules/", "schedulers/holding/", "workload/traces/", "reports/plots/", MIGRATIONS)
    return path.startswith(folders) or path.endswith(("__init__.py", "__main__.py")) or path in PROGRAMS


def test_short_files_have_joined_their_neighbours() -> None:
    short = {file.path: file.lines for file in package_files() if file.lines < SHORTEST_FILE}
    assert {path: lines for path, lines in short.items() if not may_be_short(path)} == {}


def own_methods(node: ast.ClassDef) -> int:
    return sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)


def test_no_class_has_more_than_twenty_methods() -> None:
    crowded = {
        f"{file.path}:{node.name}": own_methods(node)
        for file in package_files()
        for node in nodes(file)
        if isinstance(node, ast.ClassDef) and own_methods(node) > MOST_METHODS
    }
    assert crowded == {}


def parameters(function: Function) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(item.arg not in ("self", "cls") for item in named)


def test_no_public_function_takes_more_than_eight_parameters() -> None:
    long = {
        f"{file.path} {node.name}"
        for file in package_files()
        for node in public(file)
        if not isinstance(node, ast.ClassDef)
        and not file.path.startswith("cli/commands/")  # a parameter there is an option of the command
        and parameters(node) > (MOST_COMPILED_PARAMETERS if is_compiled(node) else MOST_PARAMETERS)
    }
    assert long == set()


def is_compiled(function: Function) -> bool:
    return any(ast.unparse(decorator).startswith("compiled(") for decorator in function.decorator_list)


def test_half_of_all_files_have_at_most_130_lines() -> None:
    assert statistics.median(file.lines for file in package_files()) <= MEDIAN_FILE


def test_nineteen_functions_in_twenty_have_at_most_25_lines() -> None:
    lengths = {
        f"{file.path}:{function.lineno} {function.name}": body_lines(function)
        for file in package_files()
        for function in functions(file.tree)
    }
    longest = sorted(lengths.items(), key=lambda item: -item[1])[:20]
    assert not lengths or np.quantile(list(lengths.values()), 0.95) <= BODY_P95, longest


def test_every_file_says_in_a_sentence_what_it_holds() -> None:
    assert [file.path for file in package_files() if not ast.get_docstring(file.tree)] == []


def test_everything_public_has_a_sentence() -> None:
    silent = [
        f"{file.path}:{node.lineno} {node.name}"
        for file in package_files()
        for node in public(file)
        if not ast.get_docstring(node) and not is_overload(node)
    ]
    assert silent == []


def test_everything_public_is_annotated() -> None:
    bare = [
        f"{file.path}:{node.lineno} {node.name}: {missing}"
        for file in package_files()
        for node in public(file)
        if not isinstance(node, ast.ClassDef) and (missing := unannotated(node))
    ]
    assert bare == []


def test_names_say_the_thing() -> None:
    vague = [
        f"{file.path}:{node.lineno} {node.name}"
        for file in package_files()
        for node in nodes(file)
        if isinstance(node, ast.ClassDef) and VAGUE_WORDS & set(re.findall(r"[A-Z][a-z0-9]+", node.name))
    ]
    vague += [file.path for file in package_files() if file.path.split("/")[-1].removesuffix(".py") in VAGUE_FILES]
    assert vague == []


def is_bare_participle(function: Function) -> bool:
    """Whether a function is asked for an answer by a word like `packed`: what is packed, and by whom, is left open.

    A property may be named so, and so may a method that is only told what has happened and answers nothing.
    """
    is_property = any("property" in ast.unparse(decorator) for decorator in function.decorator_list)
    tells_only = function.returns is not None and ast.unparse(function.returns) == "None"
    ends_so = re.fullmatch("[a-z]+ed", function.name) is not None and function.name not in NO_PARTICIPLES
    return (ends_so or function.name in PARTICIPLES) and not is_property and not tells_only


def test_what_is_asked_for_is_named_by_a_verb_or_a_noun() -> None:
    bare = {
        f"{file.path} {node.name}"
        for file in package_files()
        for node in public(file)
        if not isinstance(node, ast.ClassDef) and is_bare_participle(node) and node.name not in DECORATORS
    }
    assert bare == set()


def table_of_contents(tree: ast.Module) -> set[str]:
    """Public names that the package's first file binds: taken from its rooms, or defined there."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAME):
            names |= {alias.asname or alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_all_is_exactly_the_public_names_of_the_package() -> None:
    package = importlib.import_module(NAME)
    first_file = next(file for file in package_files() if file.path == "__init__.py")
    announced = [name for name in getattr(package, "__all__", []) if not name.startswith("_")]
    assert len(announced) == len(set(announced))
    assert set(announced) == table_of_contents(first_file.tree)
    assert [name for name in announced if not hasattr(package, name)] == []
