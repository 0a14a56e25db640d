"""The same steps again, with the stored events at their boundaries: after a crash, and for a run that branches off."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.checkpoints import CHECKPOINT_EVERY_TASKS, pack_state
from hybrid_ml_scheduler.live.learners import TrainingJob
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Checkpoint, RaceEvent, Rows

__all__ = ["rebuild", "replay"]

_HAND_OVER = 256
_Jobs = dict[tuple[str, int], TrainingJob]


def rebuild(
    race: Race, events: Sequence[RaceEvent], until: int, untold: Collection[str], keep: Callable[[Rows], None]
) -> None:
    """Bring a race that has not begun to the task `until`, through all that happened to the runs before it.

    Models among the events are trained and take over again. Strategies in `untold` were in none of those runs: their
    models are trained as soon as they are due. Rows go to `keep`.
    """
    waiting, jobs = deque(events), _Jobs()
    requests = _requests(waiting)
    while True:
        _take_data(race, requests, jobs)
        if waiting and waiting[0].boundary == race.next_task_id:
            _apply(race, waiting.popleft(), jobs)
            continue
        if race.next_task_id >= until:
            break
        stops = [until, *(event.boundary for event in islice(waiting, 1)), *(at for _, at in requests)]
        race.advance(1 if untold else min(_HAND_OVER, min(stops) - race.next_task_id))
        race.learners.train_due(untold, race.next_task_id)
        if race.rows.task_count >= _HAND_OVER:
            keep(race.take_rows())
    race.learners.pending = next(reversed(jobs.values()), None)
    keep(race.take_rows())


def _requests(events: Iterable[RaceEvent]) -> set[tuple[str, int]]:
    """Which data of which strategy were taken where, for the models among the events."""
    return {(event.payload["scheduler"], event.payload["requested_at"]) for event in events if event.kind == "model"}


def replay(
    race: Race,
    events: Sequence[RaceEvent],
    until: int,
    keep: Callable[[Rows], None],
    *,
    checkpoint_every: int = CHECKPOINT_EVERY_TASKS,
) -> None:
    """Run the race up to the task id `until`; the rows go to `keep`, which holds them against the stored ones.

    Checkpoints are kept on the way and at the end: whoever is killed again and again, sooner than the first checkpoint
    of a running race, must not have more to replay each time.
    """
    waiting = deque(event for event in events if event.sequence >= race.next_sequence)
    requests = _requests(waiting)
    jobs: _Jobs = {} if race.learners.pending is None else {race.learners.pending.key: race.learners.pending}
    requests -= jobs.keys()
    saved = race.next_task_id
    while True:
        _take_data(race, requests, jobs)
        if waiting and waiting[0].boundary == race.next_task_id:
            _apply(race, waiting.popleft(), jobs)
        elif race.next_task_id < until or waiting:
            race.step()
        else:
            break
        if race.next_task_id - saved >= checkpoint_every:
            keep(_rows_and_state(race, jobs))
            saved = race.next_task_id
        elif race.rows.task_count >= _HAND_OVER:
            keep(race.take_rows())
    if race.next_task_id > saved or len(race.rows):
        keep(_rows_and_state(race, jobs))


def _take_data(race: Race, requests: set[tuple[str, int]], jobs: _Jobs) -> None:
    """Take the data of every model that was asked for right here; a task from outside moves the place on, too."""
    for key in [key for key in requests if key[1] == race.next_task_id]:
        requests.remove(key)
        jobs[key] = race.learners.job(*key)


def _rows_and_state(race: Race, jobs: _Jobs) -> Rows:
    """Take the rows with a checkpoint; of the models asked for, only the newest can still be in training."""
    race.learners.pending = next(reversed(jobs.values()), None)
    rows = race.take_rows()
    rows.checkpoint = Checkpoint(boundary=race.next_task_id, blob=pack_state(race.capture()), at=time.time())
    return rows


def _apply(race: Race, event: RaceEvent, jobs: _Jobs) -> None:
    if event.kind != "model":
        race.apply(event)
        return
    job = jobs.pop((event.payload["scheduler"], event.payload["requested_at"]))
    # One that was asked for earlier came to nothing: there is one training at a time.
    for key in [key for key, other in jobs.items() if other.requested_at < job.requested_at]:
        del jobs[key]
    race.learners.pending = next(reversed(jobs.values()), None)
    model = job.run()
    if model.digest != event.payload["digest"]:
        raise StorageError(
            f"The model of {job.scheduler} from task {event.boundary} on was trained again with another result."
        )
    race.apply(event, model)
