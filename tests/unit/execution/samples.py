"""Functions that the tests submit; workers import them by name."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.execution import task

Floats = npt.NDArray[np.float64]


def same(value: Any) -> Any:
    return value


def add(left: Any, right: Any) -> Any:
    return left + right


def slow(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def until_there(path: str) -> None:
    """Runs until somebody makes the file."""
    while not Path(path).exists():
        time.sleep(0.001)


def pid(_: Any = None) -> int:
    return os.getpid()


def cores(_: Any = None) -> set[int]:
    return os.sched_getaffinity(0)


def raises(text: str) -> None:
    raise KeyError(text)


def die(_: Any = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path: str) -> str:
    """Dies the first time it is called with this path."""
    mark = Path(path)
    if not mark.exists():
        mark.write_text("x")
        die()
    return "alive"


def note(path: str, number: int, seconds: float = 0.0) -> int:
    """Leaves one line for every time it begins."""
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{number}\n")
    time.sleep(seconds)
    return number


class NeverPickled:
    """Refuses to be packed."""

    def __reduce__(self) -> Any:
        raise RuntimeError("not me")


class NeverUnpickled:
    """Can be packed, but not unpacked."""

    def __reduce__(self) -> Any:
        return raises, ("unpacking",)


class TwoArguments(Exception):
    """Cannot be unpickled: its pickle holds one argument."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(left + right)


def hostile(what: str) -> Any:
    if what == "result":
        return NeverPickled()
    if what == "result here":
        return NeverUnpickled()
    if what == "lock":
        return threading.Lock()
    raise TwoArguments("a", "b")


def forks(_: Any = None) -> int:
    """The child comes back from the function too."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return child


def fork_and_die(_: Any = None) -> None:
    """A grandchild lives on while the worker is gone."""
    if os.fork() == 0:
        time.sleep(3.0)
        os._exit(0)
    die()


def closes_everything(_: Any = None) -> None:
    os.closerange(3, 256)
    time.sleep(60.0)


@task(kind="square", size=len)
def square(values: Floats) -> Floats:
    """The slow way: a loop in Python."""
    return np.array([value * value for value in values.tolist()])


@square.on("vector")
def square_vector(values: Floats) -> Floats:
    return values * values


def halves(fraction: float, values: Floats) -> tuple[tuple[Floats], tuple[Floats]]:
    cut = round(len(values) * (1.0 - fraction))
    return (values[:cut],), (values[cut:],)


def together(left: Floats, right: Floats) -> Floats:
    return np.concatenate([left, right])


@task(kind="cube", size=len)
def cube(values: Floats) -> Floats:
    return values**3


@cube.on("vector")
def cube_vector(values: Floats) -> Floats:
    return values * values * values


cube.split(halves, together)


@task(kind="crowded")
def crowded(values: Floats) -> str:
    return "cpu"


@crowded.on("vector")
def crowded_vector(values: Floats) -> str:
    raise MemoryError("too little")


@task(kind="where", keep=True)
def made_at(_: Any = None) -> dict[str, int]:
    return {"pid": os.getpid()}


@made_at.on("vector")
def made_at_vector(_: Any = None) -> dict[str, int]:
    return {"pid": os.getpid()}


@task(kind="seen")
def seen_at(made: dict[str, int]) -> tuple[int, int]:
    return made["pid"], os.getpid()


@seen_at.on("vector")
def seen_at_vector(made: dict[str, int]) -> tuple[int, int]:
    return made["pid"], os.getpid()
