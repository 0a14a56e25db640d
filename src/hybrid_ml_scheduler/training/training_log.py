"""What a training tells on its way: stages for a progress bar, points of curves for a plot and for TensorBoard."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["TrainingLog"]


class TrainingLog:
    """Keeps the curves; passes stages on to whoever watches and points to TensorBoard where a folder is given."""

    def __init__(
        self, watch: Callable[[str, int, int], None] | None = None, board: str | None = None, name: str = "training"
    ) -> None:
        self._watch, self._name = watch, name
        self._board: Any = None
        if board is not None:
            from hybrid_ml_scheduler.learning.files import open_board

            self._board = open_board(board)
        self.curves: dict[str, list[tuple[int, float]]] = {}

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            self._board.close()

    def stage(self, name: str, done: int, total: int) -> None:
        """So much of a stage is done."""
        if self._watch is not None:
            self._watch(name, done, total)

    def point(self, curve: str, step: int, value: float) -> None:
        """One more point of a curve."""
        self.curves.setdefault(curve, []).append((step, value))
        if self._board is not None:
            self._board.add_scalar(f"{self._name}/{curve}", value, step)
