"""The kind of a function that names none: where it is defined, what it is called, and a digest of what it does.

Measured times outlive a program. Two programs may each have a `work` of their own, and one may change its own: their
times have nothing in common. The digest is of the compiled code; for the main program also of the program's path.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["kind_of"]

_MOST_REMEMBERED, _MOST_DECORATORS = 4096, 32
_KNOWN: dict[int, tuple[CodeType, str, str, str]] = {}


def kind_of(function: Callable[..., Any]) -> str:
    """The kind of a plain callable, for example `train.work#3f9a1c`; one without Python code has no digest."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        module, name = function.__module__, function.__qualname__
        code = _code(function)
    except AttributeError:
        module, name = type(function).__module__, type(function).__qualname__
        code = _code(type(function).__call__)
    if code is None:  # it is written in another language, or a class
        return _of_main_program(name) if module == "__main__" else f"{module}.{name}"
    known = _KNOWN.get(id(code))
    if known is not None and known[1] == module and known[2] == name:
        return known[3]
    kind = _with_digest(module, name, code)
    if len(_KNOWN) >= _MOST_REMEMBERED:
        _KNOWN.clear()  # kinds without end are no kinds
    _KNOWN[id(code)] = code, module, name, kind  # the code is held, so that its id stays its own
    return kind


def _code(function: Any) -> CodeType | None:
    """The code of a function under its decorators."""
    left = _MOST_DECORATORS
    while left and (wrapped := getattr(function, "__wrapped__", None)) is not None:
        function, left = wrapped, left - 1
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


@functools.lru_cache(_MOST_REMEMBERED)
def _of_main_program(name: str) -> str:
    return _with_digest("__main__", name, None)


def _with_digest(module: str, name: str, code: CodeType | None) -> str:
    digest = hashlib.blake2b(digest_size=3)
    if module == "__main__":
        path = getattr(sys.modules.get("__main__"), "__file__", None)
        if path is not None:
            module = Path(path).stem
            digest.update(os.path.realpath(path).encode())
    for part in () if code is None else _parts(code):
        digest.update(part.encode())
    return f"{module}.{name}#{digest.hexdigest()}"


def _parts(code: CodeType) -> Iterator[str]:
    """What the code does, in words that are the same in every process."""
    yield f"{code.co_code.hex()} {code.co_names} {code.co_freevars} {code.co_argcount} {code.co_flags}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
