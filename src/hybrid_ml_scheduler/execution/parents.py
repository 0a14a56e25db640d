"""Futures as arguments: a task waits for the results it is given, and shares their fate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

__all__ = ["parents_of", "when_done", "with_results"]


def parents_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Future[Any]]:
    """The futures among the arguments, one level deep."""
    return [item for value in (*args, *kwargs.values()) for item in _flat(value) if isinstance(item, Future)]


def _flat(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        yield from value
    else:
        yield value


def with_results(value: Any) -> Any:
    """An argument with the results of its futures in their places."""
    if isinstance(value, Future):
        return value.result()
    if type(value) is list or type(value) is tuple:
        return type(value)(item.result() if isinstance(item, Future) else item for item in value)
    return value


def when_done(parents: list[Future[Any]], then: Callable[[], None]) -> None:
    """Call once when all have ended, on the thread of the last one."""
    lock = threading.Lock()
    left = [len(parents)]

    def one_ended(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            then()

    for parent in parents:
        parent.add_done_callback(one_ended)
