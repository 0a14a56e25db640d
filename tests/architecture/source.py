"""The product's source as parsed files, for tests that judge its shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "hybrid_ml_scheduler"
NAME = PACKAGE.name

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module (and the name taken from it), with where it stands."""

    module: str
    name: str | None
    line: int
    in_function: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One Python file: its path below `root`, text and syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The folder of the package that the file is in; its own name for a file at the top."""
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@cache
def package_files() -> tuple[SourceFile, ...]:
    """Every Python file of the product."""
    return tuple(parsed(path, PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def test_files() -> tuple[SourceFile, ...]:
    """Every Python file of the test suite."""
    folder = REPOSITORY / "tests"
    return tuple(parsed(path, folder) for path in sorted(folder.rglob("*.py")))


test_files.__test__ = False  # type: ignore[attr-defined]  # pytest must not take it for a test


def parsed(path: Path, root: Path) -> SourceFile:
    text = path.read_text(encoding="utf-8")
    return SourceFile(path=path.relative_to(root).as_posix(), text=text, tree=ast.parse(text, str(path)))


@cache
def nodes(file: SourceFile) -> tuple[ast.AST, ...]:
    """Every node of a file's syntax tree: many tests look at all of them."""
    return tuple(ast.walk(file.tree))


@cache
def imports(file: SourceFile) -> tuple[Import, ...]:
    """All imports of a file, relative ones made absolute."""
    return tuple(_imports(file))


def _imports(file: SourceFile) -> Iterator[Import]:
    inner = {id(node) for function in functions(file.tree) for node in ast.walk(function)}
    for node in nodes(file):
        in_function = id(node) in inner
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module=alias.name, name=None, line=node.lineno, in_function=in_function)
        elif isinstance(node, ast.ImportFrom):
            module = absolute_module(file, node)
            for alias in node.names:
                yield Import(module=module, name=alias.name, line=node.lineno, in_function=in_function)


def absolute_module(file: SourceFile, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    folders = [NAME, *file.path.split("/")[:-1]]
    kept = folders[: len(folders) - (node.level - 1)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imported_room(item: Import) -> str | None:
    """Which room of the product an import reaches into; "" for the package itself, None for another library."""
    parts = item.module.split(".")
    if parts[0] != NAME:
        return None
    if len(parts) > 1:
        return parts[1]
    is_room = item.name is not None and ((PACKAGE / item.name).is_dir() or (PACKAGE / f"{item.name}.py").is_file())
    return item.name if is_room else ""


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method, however deep."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: Function) -> int:
    """Physical lines of a function's body, its docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    return (function.end_lineno or body[-1].lineno) - body[0].lineno + 1


def dotted(node: ast.AST) -> str:
    """`a.b.c` for an attribute chain of plain names, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (left := dotted(node.value)):
        return f"{left}.{node.attr}"
    return ""
