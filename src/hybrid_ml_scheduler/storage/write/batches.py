"""The batch: rows that are stored together or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_ml_scheduler.storage.rows import (
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    ResultRow,
    TaskRow,
    TrainingRow,
)
from hybrid_ml_scheduler.storage.write.blocks import TaskBlock

__all__ = ["RowBatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Rows that belong together: all of them are stored, or none.

    A result may belong to a task of an earlier batch, never of a later one. Tasks that were taken together are
    in `blocks`, with their results and labels; all others are in the lists.
    """

    tasks: Sequence[TaskRow] = ()
    results: Sequence[ResultRow] = ()
    training: Sequence[TrainingRow] = ()
    models: Sequence[ModelRow] = ()
    notifications: Sequence[NotificationRow] = ()
    events: Sequence[EventRow] = ()
    checkpoint: CheckpointRow | None = None
    blocks: Sequence[TaskBlock] = ()

    def __len__(self) -> int:
        parts = (self.tasks, self.results, self.training, self.models, self.notifications, self.events)
        whole = sum(block.row_count for block in self.blocks)
        return whole + sum(map(len, parts)) + (self.checkpoint is not None)

    @classmethod
    def merge(cls, batches: Sequence[RowBatch]) -> RowBatch:
        """Return one batch that holds all of them in order; the newest checkpoint wins."""
        if len(batches) == 1:
            return batches[0]
        checkpoints = [batch.checkpoint for batch in batches if batch.checkpoint is not None]
        return cls(
            tasks=[row for batch in batches for row in batch.tasks],
            results=[row for batch in batches for row in batch.results],
            training=[row for batch in batches for row in batch.training],
            models=[row for batch in batches for row in batch.models],
            notifications=[row for batch in batches for row in batch.notifications],
            events=[row for batch in batches for row in batch.events],
            checkpoint=checkpoints[-1] if checkpoints else None,
            blocks=TaskBlock.join([block for batch in batches for block in batch.blocks]),
        )

    def spelled_out(self) -> RowBatch:
        """Return the same batch with every row in the lists."""
        if not self.blocks:
            return self
        return replace(
            self,
            tasks=[*self.tasks, *(row for block in self.blocks for row in block.task_rows())],
            results=[*self.results, *(row for block in self.blocks for row in block.result_rows())],
            training=[*self.training, *(row for block in self.blocks for row in block.training_rows())],
            blocks=(),
        )
