"""A function with a kind, a size and an implementation for every device that has one."""

from __future__ import annotations

import functools
import logging
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, TypeVar, overload

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.errors import attempt
from hybrid_ml_scheduler.execution.kind_names import kind_of

__all__ = ["TaskFunction", "TaskOptions", "array_bytes", "size_of", "task", "task_within"]

Function = Callable[..., Any]
Written = TypeVar("Written", bound=Callable[..., Any])
Size = float | Function | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What a task says about itself; `None` takes the executor's word."""

    kind: str = ""
    size: Size = None
    retries: int | None = None
    timeout_s: float | None = None
    keep: bool = False
    intensity: float = 0.5

    def __post_init__(self) -> None:
        if self.retries is not None and self.retries < 0:
            raise PlanError(f"task {self.kind}: retries = {self.retries} must be at least 0.")
        if self.timeout_s is not None and not 0.0 < self.timeout_s < math.inf:
            raise PlanError(f"task {self.kind}: timeout_s = {self.timeout_s:g} must be a finite number above 0.")
        if not 0.0 <= self.intensity <= 1.0:
            raise PlanError(f"task {self.kind}: intensity = {self.intensity!r} must be within [0, 1].")


class TaskFunction:
    """A callable that runs here when it is called, and wherever it is placed when it is submitted."""

    def __init__(self, function: Function, options: TaskOptions) -> None:
        functools.update_wrapper(self, function)
        self.__qualname__: str = getattr(function, "__qualname__", type(function).__qualname__)
        self._options = options
        self._implementations: dict[str, Function] = {CPU: function}
        self._split: tuple[Function, Function] | None = None
        self._origin = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the CPU's implementation here and now."""
        return self._implementations[CPU](*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a task that is a method, as a function is bound."""
        if instance is None or isinstance(self._implementations[CPU], staticmethod):
            return self
        return MethodType(self, instance)

    def on(self, device: str) -> Callable[[Written], Written]:
        """Register the implementation for a further device; the decorated function itself stays as it is."""
        if device == CPU:
            raise PlanError(f"task {self.kind}: the CPU's implementation is the decorated function itself.")

        def register(function: Written) -> Written:
            self._implementations[device] = function
            return function

        return register

    def split(self, divide: Function, combine: Function) -> TaskFunction:
        """Let a task be shared between the CPU and one other device.

        `divide(fraction, *args, **kwargs)` gives two tuples of arguments: those of the CPU, then those of the device
        that gets `fraction` of the work. `combine(cpu_result, device_result)` puts the results together.
        """
        self._split = (divide, combine)
        return self

    def options(self, **changes: Any) -> TaskFunction:
        """The same task with other options, for example `resize.options(retries=2, timeout_s=5.0)`."""
        changed = TaskFunction.__new__(TaskFunction)
        changed.__dict__.update(self.__dict__)
        changed._options = replace(self._options, **changes)
        return changed

    @property
    def kind(self) -> str:
        """What sort of work it is: its measured times are kept under this name."""
        return self._options.kind

    @property
    def chosen(self) -> TaskOptions:
        """The options in force."""
        return self._options

    @property
    def implementations(self) -> Mapping[str, Function]:
        """The function for each device that has one."""
        return self._implementations

    @property
    def divider(self) -> tuple[Function, Function] | None:
        """`divide` and `combine`, where the task can be split."""
        return self._split

    @property
    def origin(self) -> TaskFunction:
        """The task as it was decorated, which a worker can import by name."""
        return self._origin

    def __reduce__(self) -> Any:
        if _importable(self):
            return self.__qualname__
        return _rebuilt, (self._implementations, self._options, self._split)

    def __repr__(self) -> str:
        return f"<task {self.kind} on {', '.join(self._implementations)}>"


def _importable(function: TaskFunction) -> bool:
    """Whether a worker finds this very object under its name."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _rebuilt(implementations: dict[str, Function], options: TaskOptions, split: Any) -> TaskFunction:
    made = TaskFunction(implementations[CPU], options)
    made._implementations.update(implementations)
    made._split = split
    return made


@overload
def task(function: Function) -> TaskFunction: ...


@overload
def task(
    *,
    kind: str = "",
    size: Size = None,
    retries: int | None = None,
    timeout_s: float | None = None,
    keep: bool = False,
    intensity: float = 0.5,
) -> Callable[[Function], TaskFunction]: ...


@overload
def task(
    function: Function,
    *,
    kind: str = "",
    size: Size = None,
    retries: int | None = None,
    timeout_s: float | None = None,
    keep: bool = False,
    intensity: float = 0.5,
) -> TaskFunction: ...


def task(
    function: Function | None = None,
    *,
    kind: str = "",
    size: Size = None,
    retries: int | None = None,
    timeout_s: float | None = None,
    keep: bool = False,
    intensity: float = 0.5,
) -> TaskFunction | Callable[[Function], TaskFunction]:
    """Make a function a task: `@task` or `@task(kind="fft", size=len)`.

    `size` says how much work a call is: a number, or a function of the same arguments; by default, and where it fails,
    the bytes of the arrays among the arguments. `keep` leaves the result on the device for the next task.
    """

    def made(decorated: Function) -> TaskFunction:
        options = TaskOptions(
            kind=kind or kind_of(decorated),
            size=size,
            retries=retries,
            timeout_s=timeout_s,
            keep=keep,
            intensity=intensity,
        )
        return TaskFunction(decorated, options)

    return made if function is None else made(function)


def task_within(
    function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Function, tuple[Any, ...], Mapping[str, Any]]:
    """The task inside a `functools.partial` or a bound method, with the arguments that are bound; else the call itself.

    Only the task itself has implementations for further devices.
    """
    if type(function) is functools.partial:
        found, bound, named = task_within(function.func, function.args + args, {**function.keywords, **kwargs})
    elif type(function) is MethodType:
        found, bound, named = function.__func__, (function.__self__, *args), kwargs
    else:
        return function, args, kwargs
    return (found, bound, named) if isinstance(found, TaskFunction) else (function, args, kwargs)


def size_of(kind: str, size: Size, nbytes: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> float:
    """How much work a call is; the bytes of its arrays where the given size fails or is no finite number above 0."""
    usual = float(nbytes) if nbytes else 1.0
    if size is None:
        return usual
    value, error = attempt(_number, size, args, kwargs)
    if error is not None:  # a hint never fails a task, whatever it raises
        _LOGGER.debug("The size of %s cannot be found, %g is used: %r", kind, usual, error)
        return usual
    return float(value) if 0.0 < value < math.inf else usual


def _number(size: Size, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> float:
    return float(size(*args, **kwargs) if callable(size) else size or 0.0)


def array_bytes(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """The bytes of the arrays among the arguments, one level deep."""
    total = 0
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind in _NO_ARRAYS:
            continue
        if kind is list or kind is tuple:
            total += sum(_bytes_of(item) for item in value)
        else:
            total += _bytes_of(value)
    return total


def _bytes_of(value: Any) -> int:
    count = attempt(getattr, value, "nbytes", 0).value  # an argument may answer as it likes: it is a hint
    return count if isinstance(count, int) else 0


_LOGGER = logging.getLogger(__name__)
_NO_ARRAYS = frozenset({int, float, str, bytes, bool, type(None), complex})
