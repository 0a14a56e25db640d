"""Functions on their way to workers: one that pickle names is sent once, anything that can change every time.

A function of a module is a name: the worker imports it once and keeps it. A callable object, a bound method, a
`functools.partial` and a lambda carry values. They are pickled when they are submitted, so that each call runs with the
values of that moment, as its arguments do.
"""

from __future__ import annotations

import pickle
import pickletools
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from hybrid_ml_scheduler.execution.errors import attempt
from hybrid_ml_scheduler.execution.tasks import TaskFunction
from hybrid_ml_scheduler.execution.workers.payloads import has_main_file, not_transferable

__all__ = ["Code", "FunctionCodes", "code_by_value", "code_of"]

_NAMING = frozenset({"PROTO", "FRAME", "SHORT_BINUNICODE", "BINUNICODE", "MEMOIZE", "STACK_GLOBAL", "STOP"})
# Equal bytes that were sent lately are one object: ten thousand queued calls of a method share them.
_SHARED = 32


class Code(NamedTuple):
    """A function as bytes; with a number above 0 a worker may keep it."""

    number: int
    body: bytes


def code_of(function: Any) -> tuple[bytes, bool]:
    """A function as bytes, and whether they only name it, so that a worker may keep what it imports."""
    body = None if _lives_in_console(function) else _pickle_of(function)
    if body is not None:
        return body, _only_names(body)
    return _value_of(function, TypeError("it has no name that a worker could import")), False


def code_by_value(function: Any) -> tuple[bytes, bool]:
    """A function for another machine, which has no copy of the main program; a plain function may be kept there."""
    is_main = getattr(function, "__module__", "") == "__main__"
    body = None if is_main else _pickle_of(function)
    if body is not None and _only_names(body):
        return body, True
    if is_main and isinstance(function, TaskFunction):
        function = SimpleNamespace(implementations=function.implementations)
    return _value_of(function), False


class FunctionCodes:
    """The codes of the functions of one engine; any thread may ask."""

    def __init__(self, encoded: Callable[[Any], tuple[bytes, bool]]) -> None:
        self._encoded = encoded
        self._lock = threading.Lock()
        self._named: dict[bytes, Code] = {}
        self._known: dict[int, tuple[weakref.ref[Any], Code]] = {}
        self._shared: dict[bytes, bytes] = {}

    def code(self, function: Any) -> Code:
        """The code of a function as it is now."""
        if isinstance(function, TaskFunction):
            function = function.origin
        known = self._known.get(id(function))
        if known is not None and known[0]() is function:
            return known[1]
        body, lasts = self._encoded(function)
        with self._lock:
            if not lasts:
                return Code(0, self._one_of_equals(body))
            code = self._named.setdefault(body, Code(len(self._named) + 1, body))
        reference = attempt(weakref.ref, function).value  # what has none is named again each time
        if reference is not None:
            self._known[id(function)] = reference, code
        return code

    def _one_of_equals(self, body: bytes) -> bytes:
        if len(self._shared) >= _SHARED:
            self._shared.clear()
        return self._shared.setdefault(body, body)


def _pickle_of(function: Any) -> bytes | None:
    """None where pickle refuses; its error is not kept, for with its frames it would hold the function."""
    body: bytes | None = attempt(pickle.dumps, function, protocol=5).value
    return body


def _only_names(body: bytes) -> bool:
    return len(body) < 4096 and all(code.name in _NAMING for code, _, _ in pickletools.genops(body))


def _value_of(function: Any, first: BaseException | None = None) -> bytes:
    from numba import cloudpickle

    body, error = attempt(cloudpickle.dumps, function, protocol=5)
    if error is not None:
        raise not_transferable("The function", first or error) from error
    found: bytes = body
    return found


def _lives_in_console(function: Any) -> bool:
    """Whether it was defined where a worker cannot import it from: a console, `python -c` or a script on stdin."""
    return getattr(function, "__module__", "") == "__main__" and not has_main_file()
