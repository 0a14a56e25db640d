"""From the arena's records to wire messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.frames import DeviceLoad, Frame, Status, Window, moment
from hybrid_ml_scheduler.live.records import Notice
from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.wire import live
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus, WorkloadState

__all__ = [
    "load_view",
    "notice_view",
    "snapshot_view",
    "standings_view",
    "status_view",
    "task_view",
    "update_view",
]

_TASKS_KEPT = 300
_NO_LOAD = DeviceLoad(utilization=0.0, run_utilization=0.0, queue_length=0, backlog_s=0.0)


def task_view(task: Task) -> live.LatestTask:
    """Return a task as viewers see it."""
    return live.LatestTask(
        id=task.task_id,
        size=task.size,
        intensity=task.compute_intensity,
        memory=task.memory_required,
        kind=task.kind,
    )


def notice_view(notice: Notice, number: int) -> live.Notification:
    """Return a notice as a message."""
    return live.Notification(
        id=number,
        key=notice.key,
        level=notice.level,
        message=notice.message,
        at=moment(notice.at),
        event=notice.event,
        data=dict(notice.data),
    )


def load_view(devices: Mapping[str, DeviceLoad]) -> live.ClusterLoad:
    """Return the loads of one cluster; a cluster that does not exist is idle."""
    average = sum(load.utilization for load in devices.values()) / len(devices) if devices else 0.0
    return live.ClusterLoad(average_utilization=average, **{"cpu": _NO_LOAD, **devices})


def status_view(status: Status) -> SimulationStatus:
    """Return where the race stands."""
    return SimulationStatus(
        state=status.state,
        is_running=status.state in ("running", "paused"),
        is_paused=status.state == "paused",
        run_id=status.run_id,
        seed=status.seed,
        tasks_processed=status.tasks_processed,
        tasks_total=status.next_task_id,
        last_task_id=status.next_task_id - 1 if status.next_task_id else None,
        simulated_time_s=status.simulated_time_s,
        speed=status.speed,
        achieved_speed=status.achieved_speed,
        workload=WorkloadState(preset=status.preset, arrival_rate=status.arrival_rate, trace=status.trace),
        schedulers=list(status.schedulers),
        knowledge=status.knowledge,
        num_gpus=status.num_gpus,
        retrain_interval=status.retrain_interval,
        retraining=status.retraining,
        storage=status.storage,
        backlog_rows=status.backlog_rows,
        problem=status.problem,
        learning=dict(status.learning),
        branch=status.branch,
    )


def update_view(frame: Frame, seq: int, focus: str) -> live.SimulationUpdate:
    """Return a frame as the update for a viewer with this focus."""
    clusters = {name: load_view(devices) for name, devices in frame.clusters.items()}
    whole = frame.windows.get("run")
    return live.SimulationUpdate(
        seq=seq,
        at=moment(frame.at),
        status=status_view(frame.status),
        simulated_time_s=frame.status.simulated_time_s,
        tasks_processed=frame.status.tasks_processed,
        task=None if frame.task is None else task_view(frame.task),
        recent_tasks=[task_view(task) for task in frame.recent_tasks],
        latest_results=dict(frame.latest),
        comparison=[] if whole is None else list(whole.comparison),
        compared_tasks=0 if whole is None else whole.compared_tasks,
        windows={name: window for name, window in frame.windows.items() if name != "run"},
        focus=focus,
        utilization=clusters.get(focus) or load_view({}),
        clusters=clusters,
        audit=dict(frame.audits),
        bound=frame.bound,
        shifts=list(frame.marks),
    )


def standings_view(update: live.SimulationUpdate, name: WindowName) -> Window:
    """Return one window of an update; where there was no shift, the tasks since the last one are all of the run."""
    found = update.windows.get(name)
    if found is not None:
        return found
    tasks, last = update.tasks_processed, update.status.last_task_id
    return Window(
        name="run",
        first_task_id=None if last is None or not tasks else last - tasks + 1,
        last_task_id=last if tasks else None,
        tasks=tasks,
        compared_tasks=update.compared_tasks,
        begin_s=0.0 if update.status.branch is None else update.status.branch.simulated_time_s,
        end_s=update.simulated_time_s,
        comparison=tuple(update.comparison),
    )


def snapshot_view(frame: Frame, recent: Iterable[Task]) -> live.Snapshot:
    """Return a frame as the first message of a connection, for whoever looks at it when the race has gone on."""
    return live.Snapshot(
        seq=0,
        at=moment(frame.at),
        version=__version__,
        update=update_view(frame, 0, next(iter(frame.clusters), "")),
        recent_tasks=[task_view(task) for task in recent][-_TASKS_KEPT:],
        notifications=[],
        log=[],
    )
