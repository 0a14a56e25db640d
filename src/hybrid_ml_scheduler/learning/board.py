"""TensorBoard's log of a training, on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import ModelError

__all__ = ["open_board"]


def open_board(folder: str | Path) -> Any:
    """A writer of scalars into a folder, or one sentence that says what is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModelError("TensorBoard is not installed: pip install 'hybrid-ml-scheduler[tensorboard]'.") from error
    try:
        return SummaryWriter(str(folder))
    except OSError as error:
        raise ModelError(f"{folder} cannot hold a TensorBoard log: {error.strerror or error}.") from error
