"""The code of a strategy's author: it may raise, print or exit, and none of that may look like ours."""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from hybrid_ml_scheduler.core.errors import HmsError, SchedulerError

__all__ = ["authors_line", "contain", "printing_apart", "strategy_errors", "strategy_errors_at"]

_OWN_FOLDER = Path(__file__).resolve().parent.parent
_LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def authors_line(error: BaseException) -> str:
    """The last line of an author's own file on the way to an error (`mine.py, line 7`); empty if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        place = Path(frame.filename).resolve()
        if frame.filename.startswith("<") or any(place.is_relative_to(one) for one in (_OWN_FOLDER, *_LIBRARIES)):
            continue
        return f"{place.name}, line {frame.lineno}"
    return ""


def strategy_errors_at(spec: str, what: str, *expected: type[Exception]) -> AbstractContextManager[None]:
    """Say of which strategy's code it is the fault that something cannot be done with it, and where in its file."""
    return _Blamed(f"The strategy {spec!r} cannot be {what}", (HmsError, *expected), names_line=True)


def strategy_errors(sentence: str, *expected: type[Exception]) -> AbstractContextManager[None]:
    """Begin with this sentence when a strategy's own code, which may raise anything, does raise or exits."""
    return _Blamed(sentence, (HmsError, *expected))


class _Blamed:
    """The same as a generator with `contextmanager`, at a fraction of its cost: it is entered for every decision."""

    __slots__ = ("_expected", "_names_line", "_sentence")

    def __init__(self, sentence: str, expected: tuple[type[Exception], ...], *, names_line: bool = False) -> None:
        self._sentence, self._expected, self._names_line = sentence, expected, names_line

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Let through what is expected or no fault of the strategy's."""
        if error is None or isinstance(error, self._expected):
            return
        if isinstance(error, SystemExit):
            raise SchedulerError(f"{self._sentence}: {_exit_words(error)}.") from error
        if isinstance(error, Exception):
            line = authors_line(error) if self._names_line else ""
            where = f" ({line})" if line else ""
            raise SchedulerError(f"{self._sentence}: {type(error).__name__}: {error}{where}.") from error


@contextmanager
def contain(name: str) -> Iterator[None]:
    """Run a strategy in a command: what it prints is no part of the results, and it cannot end the command."""
    with printing_apart():
        try:
            yield
        except SystemExit as error:
            raise SchedulerError(f"The strategy {name} wanted to end the program: {_exit_words(error)}.") from error


def printing_apart() -> AbstractContextManager[object]:
    """What is printed meanwhile goes to the error output; it may be of any length and is no result.

    For commands, where one thread does the work: the change holds for the whole process.
    """
    return contextlib.redirect_stdout(sys.stderr)


def _exit_words(error: SystemExit) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"sys.exit({'' if error.code is None else repr(error.code)}){where}"
