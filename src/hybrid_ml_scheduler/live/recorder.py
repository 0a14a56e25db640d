"""Hands the race's rows over: often enough, together with checkpoints, and never more than there is room for."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.checkpoints import CHECKPOINT_EVERY_TASKS, pack_state
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Activation, Checkpoint
from hybrid_ml_scheduler.live.sinks import Keeper, StoreState

__all__ = ["Recorder"]

# A transaction costs the store and the interpreter as much as hundreds of rows: few and large ones leave time to race.
_TASKS_AT_ONCE = 1024
_LONGEST_WAIT_S = 0.2
_CHECKPOINT_EVERY_S = 5.0
_CHECKPOINT_REST = 30.0
_SILENCE_S = 5.0
# Looks that are further apart say that this process had no time: then the store cannot be blamed for its silence.
_LOOKS_APART_S = 1.5


class Recorder:
    """Stands between the race and the keeper."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._handed_over_s = 0.0
        self._checkpoint_s = 0.0
        self._costly_rest_s = 0.0  # queues of strategies that cannot keep up grow, and with them what a state costs
        self._checkpoint_task = 0
        self._announced = 0
        self._is_waiting = False
        self._is_abandoned = False
        self._silent_since_s: float | None = None
        self._looked_s = 0.0
        self._packer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._packing: Future[Checkpoint] | None = None

    def open(self, race: Race) -> None:
        """Begin with a race whose present state is stored; a checkpoint of another race is dropped."""
        self._packing = None
        self._is_abandoned = False
        self._checkpoint_s, self._checkpoint_task = time.monotonic(), race.next_task_id
        self._announced = 0

    def abandon(self, race: Race) -> None:
        """Keep only whole tasks of a race that broke within one, and take no more checkpoints of it."""
        self._packing = None
        self._is_abandoned = True
        race.rows = race.rows.before(race.next_task_id)

    @property
    def backlog(self) -> int:
        """Rows that the keeper has taken and not stored yet."""
        return self._keeper.backlog

    @property
    def refusal(self) -> str | None:
        """Why the keeper takes no more rows."""
        return self._keeper.refusal

    @property
    def store_state(self) -> StoreState:
        """How storing goes."""
        if self.refusal is not None:
            return "refused"
        if self._keeper.is_up:
            self._silent_since_s = None
            return "waiting" if self._is_waiting else "ok"
        # A store that was only slow for a moment is no outage: rows wait, and nobody need be alarmed.
        now_s = time.monotonic()
        if self._silent_since_s is None or now_s - self._looked_s > _LOOKS_APART_S:
            self._silent_since_s = now_s
        self._looked_s = now_s
        return "down" if now_s - self._silent_since_s >= _SILENCE_S else "waiting"

    def tend(self, race: Race, at: float) -> bool:
        """Hand over what is due; return whether the race may go on."""
        now_s = time.monotonic()
        is_late = now_s - self._handed_over_s >= _LONGEST_WAIT_S and len(race.rows) > 0
        if is_late or race.rows.task_count >= _TASKS_AT_ONCE:
            self._is_waiting = not self.hand_over(race, at, checkpoint=False)
        if self._is_checkpoint_due(race, now_s) and not self._is_waiting:
            self._capture(race, at)
        return not self._is_waiting or race.rows.task_count < _TASKS_AT_ONCE

    def _is_checkpoint_due(self, race: Race, now_s: float) -> bool:
        moved = race.next_task_id - self._checkpoint_task
        passed_s, many = now_s - self._checkpoint_s, moved >= CHECKPOINT_EVERY_TASKS
        is_time = passed_s >= (self._costly_rest_s if many else max(_CHECKPOINT_EVERY_S, self._costly_rest_s))
        return self._packing is None and moved > 0 and is_time and not self._is_abandoned

    def hand_over(self, race: Race, at: float, *, checkpoint: bool) -> bool:
        """Give the keeper all rows, and with `checkpoint` the present state; say whether it had room."""
        if not self._keeper.has_room(len(race.rows) + 1):
            return False
        state: Checkpoint | None = None
        try:
            if checkpoint and not self._is_abandoned:
                self._capture(race, at)
                state = self._packed(wait=True)
            else:
                state = self._packed(wait=False)
        finally:  # the rows are handed over even where the state cannot be taken
            self._give(race, state)
        return True

    def _give(self, race: Race, state: Checkpoint | None) -> None:
        rows = race.take_rows()
        rows.checkpoint = state
        if len(rows):
            try:
                self._keeper.keep(rows)
            except StorageError:
                race.rows = rows
                raise
        self._handed_over_s = time.monotonic()
        self._announced = 0

    def _capture(self, race: Race, at: float) -> None:
        """Take the state now; it is packed beside the race and handed over when that is done.

        A checkpoint may come after rows of later tasks: going back a little further gives the same rows again.
        """
        begin_s, boundary, state = time.monotonic(), race.next_task_id, race.capture()
        self._packing = self._packer.submit(lambda: Checkpoint(boundary=boundary, blob=pack_state(state), at=at))
        self._checkpoint_s, self._checkpoint_task = time.monotonic(), boundary
        self._costly_rest_s = _CHECKPOINT_REST * (self._checkpoint_s - begin_s)

    def _packed(self, *, wait: bool) -> Checkpoint | None:
        packing = self._packing
        if packing is None or not (wait or packing.done()):
            return None
        self._packing = None
        return packing.result()

    def close(self) -> None:
        """End the packing thread."""
        self._packer.shutdown(wait=True)

    def new_activations(self, race: Race) -> list[Activation]:
        """Return the activations that nobody was told about yet."""
        fresh = race.rows.activations[self._announced :]
        self._announced = len(race.rows.activations)
        return fresh
