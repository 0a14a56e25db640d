"""`map` with a chunk size: several calls of one function travel, run and are measured as one task."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.kind_names import kind_of
from hybrid_ml_scheduler.execution.tasks import TaskFunction, TaskOptions, array_bytes, size_of, task_within

__all__ = ["ChunkedTask", "flat_chunks", "results_in_order"]


class ChunkedTask(TaskFunction):
    """Runs a function on groups of `width` arguments, one after another; placed as the function itself would be."""

    def __init__(self, function: Callable[..., Any], width: int) -> None:
        self._function, self._width = function, width
        found, bound, named = task_within(function, (), {})
        if isinstance(found, TaskFunction):
            options, calls = found.chosen, dict(found.implementations)
        else:
            options, calls = TaskOptions(kind=kind_of(found)), {CPU: found}
        super().__init__(function, replace(options, size=self._size))
        self._own_size, self._bound, self._named = options.size, bound, named
        self._implementations = {
            device: _Each(partial(call, *bound, **named) if bound or named else call, width)
            for device, call in calls.items()
        }

    def _size(self, *flat: Any) -> float:
        """The sizes of all its calls together."""
        calls = ((*self._bound, *args) for args in _groups(flat, self._width))
        return sum(
            size_of(self.kind, self._own_size, array_bytes(args, self._named), args, self._named) for args in calls
        )

    def __reduce__(self) -> Any:
        return ChunkedTask, (self._function, self._width)


class _Each:
    """An implementation, called for every group."""

    def __init__(self, call: Callable[..., Any], width: int) -> None:
        self._call, self._width = call, width

    def __call__(self, *flat: Any) -> list[Any]:
        return [self._call(*args) for args in _groups(flat, self._width)]


def flat_chunks(iterables: tuple[Iterable[Any], ...], length: int) -> Iterator[tuple[Any, ...]]:
    """The arguments of `length` calls at a time, one behind another."""
    calls = zip(*iterables, strict=False)  # the shortest ends it, as in `map`
    while chunk := tuple(chain.from_iterable(islice(calls, length))):
        yield chunk


def results_in_order(chunks: Sequence[Future[Any]], end: float | None) -> Iterator[Any]:
    """The results of every chunk until a moment of the monotonic clock; what is not asked for any more is cancelled."""
    waiting = deque(chunks)
    try:
        while waiting:
            yield from waiting[0].result(None if end is None else end - time.monotonic())
            waiting.popleft()
    finally:
        for future in waiting:
            future.cancel()


def _groups(flat: tuple[Any, ...], width: int) -> Iterator[tuple[Any, ...]]:
    return zip(*[iter(flat)] * width, strict=True)
