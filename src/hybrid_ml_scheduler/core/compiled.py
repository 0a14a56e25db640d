"""Compiled code that is never older than what it was made from.

Numba keeps compiled functions on disk and forgets them when their own file changes; but what a function calls in other
files is compiled into it, and a change there goes unnoticed: after an update the kernel would go on with the old
physics. So what is kept of a function bears the digest of every source that went into it, and code with another digest
is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

__all__ = ["MADE_FROM", "compiled", "is_kept", "python_function", "sources_digest"]

Function = TypeVar("Function", bound=Callable[..., Any])

# What the compiled functions of a room are made from: the room itself and the rooms it calls.
MADE_FROM = {
    "learning": ("core", "learning"),
    "physics": ("core", "physics"),
    "engine": ("core", "learning", "physics", "engine"),
    "cluster": ("core", "learning", "physics", "engine", "cluster"),
    "schedulers": ("core", "learning", "physics", "engine", "schedulers"),
    "training": ("core", "learning", "physics", "engine", "cluster", "schedulers", "training"),
    "live": ("core", "physics", "live"),
    "execution": ("core", "learning", "physics", "engine", "cluster", "execution"),
}
# Files without compiled functions whose constants are compiled in.
_CONSTANTS = ("decisions.py", "holding.py", "protocols.py", "ranges.py", "node.py", "state.py", "address.py")
_PACKAGE = Path(__file__).resolve().parent.parent


def compiled(*, allocates: bool = True, inner: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Compile a function of this package with these options of `numba.njit`, and keep the code for the next process.

    A function that makes no array, and calls none that does, says so with `allocates=False`: it is compiled without
    reference counting. Counting costs twenty times the rest where a state of many arrays is handed from function to
    function (37 against 1.9 M placements a second). Such a function must not return an array to one that counts.
    An `inner` function does not allocate either and is called by compiled code alone, so that no entry from Python is
    made for it (which takes longer than the function itself).
    """
    from numba import njit

    def decorated(function: Function) -> Function:
        entries = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        made = njit(**{"error_model": "numpy", "_nrt": allocates and not inner, **entries, **options})(function)
        if hasattr(made, "enable_caching"):  # otherwise Numba is switched off, and the function is itself
            made._cache = _cache_of(function)
        return cast("Function", made)

    return decorated


def _cache_of(function: Callable[..., Any]) -> Any:
    """Numba's own cache, which also looks at the digest of all sources when it compares what it kept."""
    room = Path(function.__code__.co_filename).resolve().relative_to(_PACKAGE).parts[0]
    return _cache_class(sources_digest(_PACKAGE, room))(function)


def python_function(function: Function) -> Function:
    """The Python function that a compiled one was made from."""
    return cast("Function", getattr(function, "py_func", function))


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether code of a compiled function lies on disk that may be used."""
    cache = getattr(function, "_cache", None)
    return cache is None or bool(cache._cache_file._load_index())


@cache
def _cache_class(digest: str) -> Any:
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    class Stamped:
        def get_source_stamp(self) -> tuple[Any, str]:
            return super().get_source_stamp(), digest  # type: ignore[misc]  # of the locator that this stands before

    locators = [type(one.__name__, (Stamped, one), {}) for one in CompileResultCacheImpl._locator_classes]
    storing = type("StampedCacheImpl", (CompileResultCacheImpl,), {"_locator_classes": locators})
    return type("StampedCache", (FunctionCache,), {"_impl_class": storing})


@cache
def sources_digest(package: Path, room: str) -> str:
    """A digest of every file that compiled functions of a room are made from."""
    found = hashlib.blake2b(digest_size=16)
    for source in MADE_FROM[room]:
        for path in sorted((package / source).rglob("*.py")):
            text = path.read_bytes()
            if b"@compiled(" in text or path.name in _CONSTANTS:
                found.update(path.relative_to(package).as_posix().encode() + b"\0" + text + b"\0")
    return found.hexdigest()
