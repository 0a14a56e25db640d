"""From a checkpoint to the last stored row: the same steps again, with the stored events at their boundaries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.learners import TrainingJob
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import RaceEvent, Rows

__all__ = ["replay"]

_HAND_OVER = 256


def replay(race: Race, events: Sequence[RaceEvent], until: int, keep: Callable[[Rows], None]) -> None:
    """Run the race up to the task id `until`; the rows go to `keep`, which holds them against the stored ones."""
    waiting = deque(event for event in events if event.sequence >= race.next_sequence)
    requests = {
        (event.payload["scheduler"], event.payload["requested_at"]) for event in waiting if event.kind == "model"
    }
    jobs: dict[tuple[str, int], TrainingJob] = {}
    if race.learners.pending is not None:
        jobs[race.learners.pending.key] = race.learners.pending
    while True:
        for scheduler, requested_at in requests:
            if requested_at == race.next_task_id and (scheduler, requested_at) not in jobs:
                jobs[scheduler, requested_at] = race.learners.job(scheduler, requested_at)
        while waiting and waiting[0].boundary == race.next_task_id:
            _apply(race, waiting.popleft(), jobs)
        if race.next_task_id >= until and not waiting:
            break
        race.step()
        if len(race.rows.tasks) >= _HAND_OVER:
            keep(race.take_rows())
    if len(race.rows):
        keep(race.take_rows())


def _apply(race: Race, event: RaceEvent, jobs: dict[tuple[str, int], TrainingJob]) -> None:
    if event.kind != "model":
        race.apply(event)
        return
    job = jobs.pop((event.payload["scheduler"], event.payload["requested_at"]))
    if race.learners.pending is job:
        race.learners.pending = None
    model = job.run()
    if model.digest != event.payload["digest"]:
        raise StorageError(
            f"The model of {job.scheduler} from task {event.boundary} on was trained again with another result."
        )
    race.apply(event, model)
