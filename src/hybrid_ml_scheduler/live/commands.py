"""Commands from other threads, carried out between two tasks."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from hybrid_ml_scheduler.core.errors import InternalError

__all__ = ["CommandLoop"]

T = TypeVar("T")


class CommandLoop:
    """Takes commands from any thread; the thread of the loop carries them out when it comes to them."""

    def __init__(self) -> None:
        self._commands: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._is_over = False

    def ask(self, command: Callable[[], T]) -> Future[T]:
        """Have a command carried out in the arena's thread, between two tasks."""
        answer: Future[T] = Future()
        self._commands.put((command, answer))
        if self._is_over:
            self._refuse_commands()
        return answer

    def _refuse_commands(self) -> None:
        """Answer commands that nobody will carry out any more, so that nobody waits for them."""
        self._is_over = True
        with suppress(queue.Empty):
            while True:
                _, answer = self._commands.get_nowait()
                if answer.set_running_or_notify_cancel():  # else whoever asked has gone
                    answer.set_exception(InternalError("The arena has ended."))

    def _obey(self, wait_s: float) -> None:
        """Carry out the commands that are there, waiting for the first one if there is time."""
        try:
            found = self._commands.get(timeout=wait_s) if wait_s > 0.0 else self._commands.get_nowait()
            while True:
                self._carry_out(*found)
                found = self._commands.get_nowait()
        except queue.Empty:
            return

    def _carry_out(self, command: Callable[[], Any], answer: Future[Any]) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(command())
        except Exception as error:  # noqa: BLE001 - whoever asked gets the error, the arena goes on
            answer.set_exception(error)
