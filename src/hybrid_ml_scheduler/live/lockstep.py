"""All strategies in lock-step on one stream, task by task or stretch by stretch. No thread, no wall clock, no store."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from hybrid_ml_scheduler.cluster import BacklogView, RunColumns
from hybrid_ml_scheduler.core import FloatColumn, HmsError, Task
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT, at_level, level_of, split_level
from hybrid_ml_scheduler.live.frames import BranchPoint, Shift
from hybrid_ml_scheduler.live.hidden import HiddenTruth, TrueTask
from hybrid_ml_scheduler.live.learners import Learners
from hybrid_ml_scheduler.live.numbering import Numbering
from hybrid_ml_scheduler.live.proof import Proof
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.records import (
    Course,
    Label,
    RacedStretch,
    Rows,
)
from hybrid_ml_scheduler.live.stretch import Stretch
from hybrid_ml_scheduler.live.tally import Measure
from hybrid_ml_scheduler.live.windows import Windows
from hybrid_ml_scheduler.physics import PhysicsEstimator
from hybrid_ml_scheduler.plans.comparable import compared_up_to
from hybrid_ml_scheduler.schedulers import create, find, options_for, strategy_errors_at
from hybrid_ml_scheduler.schedulers.rules.oracle import Oracle
from hybrid_ml_scheduler.workload import TaskStream, TraceStream, WorkloadParameters

__all__ = ["LEAST_STRETCH", "Lockstep", "shown_to"]

_MARKS_KEPT = 50
_RECENT_KEPT = 300
LEAST_STRETCH = 8


def shown_to(racer: Racer, task: Task, race: Lockstep) -> Task:
    """A task of the race as a strategy may see it: without its measured times unless it is told the truth."""
    seen = race.stream.seen_task(task.task_id) if isinstance(race.stream, TraceStream) else None
    return task if seen is None or racer.level == EXACT else seen


class Lockstep:
    """The stream, the racers, and what has not been handed on yet."""

    def __init__(self, course: Course, *, run_id: int, first_task_id: int) -> None:
        self.course = course
        self.run_id = run_id
        self.first_task_id = self.next_task_id = first_task_id
        self.now_s = 0.0
        self.preset = course.preset
        self.branch: BranchPoint | None = None
        self.rows = Rows(run_id=run_id)
        self.marks: deque[Shift] = deque(maxlen=_MARKS_KEPT)
        self.recent: deque[Task] = deque(maxlen=_RECENT_KEPT)
        self.windows = Windows(first_task_id)
        self.proof = Proof(course.node)
        self.stream = _stream_of(self.course, first_task_id)
        self.hidden = HiddenTruth(course.truth, course.seed, course.node)
        self.racers = [self._racer(spec) for spec in course.schedulers]
        _count_from(self, first_task_id)
        self.learners = Learners(self.racers, course)
        self.next_sequence = 0
        self._numbering = Numbering()
        self._estimator = PhysicsEstimator(course.node)
        self._oracle = Oracle()
        self._empty = BacklogView(self._estimator)
        names = [racer.name for racer in self.racers]
        if len(set(names)) < len(names):
            raise PlanError(f"schedulers: {', '.join(names)} names a strategy twice.")

    def _racer(self, spec: str) -> Racer:
        """Make a strategy with a cluster of its own; when it is trained, `learners` says."""
        course = self.course
        scheduler, entry, asked = create(spec, options_for(spec, course.options)), find(spec), split_level(spec)[1]
        with strategy_errors_at(spec, "prepared"):
            return Racer(
                course.node,
                scheduler,
                seed=course.seed,
                retrain_interval=course.retrain_interval,
                most_open=course.most_open,
                summary=entry.summary,
                name=at_level(scheduler.name, asked),
                level=level_of(scheduler, asked, course.knowledge),
                nominal_backlogs=course.nominal_backlogs,
                knows_scale=self.stream.knows_scale,
            )

    def take_place(self, run_id: int, first_task_id: int) -> None:
        """Give a race that has not begun its place after all that was run before; a branch has its tasks already."""
        self.run_id, self.rows = run_id, Rows(run_id=run_id)
        if self.branch is not None:
            return
        self.first_task_id = self.next_task_id = first_task_id
        self.windows = Windows(first_task_id)
        self.stream = _stream_of(self.course, first_task_id)
        _count_from(self, first_task_id)

    def branch_off(self, run_id: int, left: int, task_id: int) -> None:
        """Begin a run of its own here, at task `task_id` of the run `left`: all is counted from the next task on.

        The clock, the stream, the queues and what was learned stay as they are.
        """
        here_s, first = self.now_s, self.next_task_id
        self.branch = BranchPoint(run_id=left, task_id=task_id, first_task_id=first, simulated_time_s=here_s)
        self.run_id, self.rows, self.first_task_id, self.next_sequence = run_id, Rows(run_id=run_id), first, 0
        self.windows, self.proof = Windows(first, here_s), Proof(self.course.node, here_s)
        self.marks.clear()
        self.recent.clear()
        _count_from(self, first)
        self.learners.count_from_here()

    @property
    def tasks_processed(self) -> int:
        """Tasks of this run."""
        return self.next_task_id - self.first_task_id

    @property
    def workload(self) -> WorkloadParameters:
        """The laws that the next task follows."""
        return self.stream.parameters

    @property
    def is_complete(self) -> bool:
        """Whether the tasks come from a file and all of them have been placed."""
        return isinstance(self.stream, TraceStream) and self.stream.is_over

    def step(self, *, explain: bool = False) -> Task:
        """Take the next task of the stream through every strategy; after the last one of a file, let all finish."""
        self._meet_script(1)
        seen = None
        if isinstance(self.stream, TraceStream):
            task, seen, duration_factor = self.stream.next_task()
        else:
            drawn, duration_factor = self.stream.next_task_and_factor()
            task = self._numbering.renumber(drawn)
        self._enter(task, duration_factor, until_s=task.arrival_time, explain=explain, seen=seen)
        self.rows.activations += self.learners.after_task(self.next_task_id)
        if self.is_complete:
            for racer in self.racers:
                self.rows.outcomes += racer.count(racer.drain(self.now_s), self.first_task_id)
            _compare(self)
        return task

    def advance(self, most: int) -> int:
        """Take up to `most` tasks of the stream through every strategy, the rows being those of single steps.

        Independent tasks go through each strategy together; everything else is taken step by step.
        Where a strategy breaks, the tasks before that one have been taken, and no other.
        """
        most = self._meet_script(most)
        if most < LEAST_STRETCH or not self._may_stretch():
            self.step()
            return 1
        drawn = cast("TaskStream", self.stream).next_stretch(most)  # a trace is taken step by step
        stretch = Stretch.of(self._numbering.renumber_stretch(drawn), self._estimator, self.hidden)
        runs, problem = self._met(stretch)
        if problem is not None:
            whole = min(map(len, runs.values()))
            stretch, runs = stretch.first(whole), {name: columns.first(whole) for name, columns in runs.items()}
        if stretch.tasks:
            self._take(stretch, runs)
        if problem is not None:
            raise problem
        return len(stretch.tasks)

    def _meet_script(self, most: int) -> int:
        """Let what comes from outside before the next task happen; returns how many tasks come before anything more."""
        return most

    def _met(self, stretch: Stretch) -> tuple[dict[str, RunColumns], HmsError | None]:
        """Let every strategy meet the tasks; where one breaks, those behind it go no further than it came."""
        runs: dict[str, RunColumns] = {}
        problem: HmsError | None = None
        for racer in self.racers:
            columns, broken = racer.run(stretch)
            runs[racer.name] = columns
            if broken is not None:
                problem, stretch = broken, stretch.first(len(columns))
            if not stretch.tasks:
                break
        return runs, problem

    def _take(self, stretch: Stretch, runs: Mapping[str, RunColumns]) -> None:
        """Count and hand on tasks that every strategy has decided."""
        fractions, label_s = stretch.labels(self._estimator, self._oracle.points)
        noise = stretch.batch.duration_factor
        fastest_s = label_s * noise
        raced = RacedStretch(batch=stretch.batch, label_fraction=fractions, label_s=label_s, runs=runs)
        if all(racer.simulation.is_clear for racer in self.racers):
            for racer in self.racers:
                racer.count_all(stretch.batch, runs[racer.name], fastest_s)
            self.rows.stretches.append(raced)
        else:
            self._take_singly(stretch.tasks, raced, fastest_s)
        self.windows.enter_all(stretch.batch.task_id, stretch.batch.arrival_time, fastest_s)
        for task, duration_factor, true in zip(stretch.tasks, noise.tolist(), stretch.exact.seconds, strict=True):
            self.proof.add(self.hidden.proven(task, true), duration_factor)
        self.recent += stretch.tasks
        self.now_s, self.next_task_id = stretch.tasks[-1].arrival_time, stretch.tasks[-1].task_id + 1
        _compare(self)

    def _take_singly(self, tasks: list[Task], raced: RacedStretch, fastest_s: FloatColumn) -> None:
        """Hand on tasks as single steps do, where a strategy has begun to hold some: their outcomes come later."""
        self.rows.tasks += tasks
        self.rows.labels += map(Label, tasks, raced.label_fraction.tolist(), raced.label_s.tolist())
        for racer in self.racers:
            for task, fastest in zip(tasks, fastest_s.tolist(), strict=True):
                racer.tally.expect(task.task_id, Measure.of(task, fastest))
            columns, tariff = raced.runs[racer.name], racer.simulation.cluster.estimator.tariff
            came = columns.outcomes(raced.batch.task_id, tariff) if racer.stepped is None else racer.stepped
            decided = [outcome for outcome in came if outcome.task_id <= tasks[-1].task_id]
            self.rows.outcomes += racer.count(decided, self.first_task_id)

    def _may_stretch(self) -> bool:
        """Whether every strategy would decide the next tasks as they arrive, with nothing to be done in between."""
        if isinstance(self.stream, TraceStream):
            return False
        laws = self.workload
        is_special = laws.dependency_probability or laws.deadline_slack or laws.slo_s or laws.gpu_only or laws.cpu_only
        is_driven = is_special or self.learners.is_synchronous
        return not is_driven and all(racer.simulation.is_clear for racer in self.racers)

    def _enter(
        self, task: Task, duration_factor: float, *, until_s: float, explain: bool, seen: Task | None = None
    ) -> None:
        """The way of a single task into the race: the oracle labels it, and every strategy meets it.

        A task with measured seconds is met as it was `seen` before it ran, unless a strategy is told the exact truth.
        """
        truth, rows = self._truth(task, task if seen is None else seen, duration_factor), self.rows
        self._estimator.remember(task, truth.true)  # the oracle is told the truth
        label = self._label(task)
        met = [
            racer.step(
                task if seen is None or racer.level == EXACT else seen,
                *truth.facts_for(racer.level),
                until_s=until_s,
                explain=explain,
            )
            for racer in self.racers
        ]
        # Only what all have met counts: where one breaks, the totals are those of the rows that are kept.
        rows.tasks.append(task if self.branch is None else _own(task, self.first_task_id))
        rows.labels.append(label)
        fastest_s = label.execution_s * duration_factor
        self.windows.enter(task.task_id, task.arrival_time, fastest_s, until_s)
        measure = Measure.of(task, fastest_s)
        for racer, outcomes in zip(self.racers, met, strict=True):
            racer.tally.expect(task.task_id, measure)
            rows.outcomes += racer.count(outcomes, self.first_task_id)
        self.proof.add(self.hidden.proven(task, truth.true), duration_factor)
        self.recent.append(task)
        self.now_s, self.next_task_id = until_s, task.task_id + 1
        _compare(self)

    def _truth(self, task: Task, seen: Task, duration_factor: float) -> TrueTask:
        own = self._estimator.seconds(task)
        if seen is task:
            return self.hidden.of(task, own, duration_factor)
        return self.hidden.of_measured(task, self._estimator.seconds(seen), own, duration_factor)

    def _label(self, task: Task) -> Label:
        choice = self._oracle.decide(task, self._empty)
        parts = self._estimator.parts(task, choice.gpu_fraction, choice.gpu or 0)
        return Label(task, parts.gpu_fraction, self._estimator.execution_s(parts))

    def take_rows(self) -> Rows:
        """Hand over what happened since the last time."""
        taken, self.rows = self.rows, Rows(run_id=self.run_id)
        return taken

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state before the next task, picklable."""
        return {
            "first_task_id": self.first_task_id,
            "next_task_id": self.next_task_id,
            "compared_task": self.compared_task,
            "next_sequence": self.next_sequence,
            "now_s": self.now_s,
            "windows": self.windows.capture(),
            "preset": self.preset,
            "stream": self.stream.capture(),
            "numbering": self._numbering.capture(),
            "racers": {racer.name: _captured(racer) for racer in self.racers},
            "learners": self.learners.capture(),
            "proof": self.proof.capture(),
            "hidden": self.hidden.capture(),
            "marks": list(self.marks),
            "recent": list(self.recent),
            "branch": self.branch,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state of the same course."""
        self.first_task_id, self.next_task_id = state["first_task_id"], state["next_task_id"]
        self.next_sequence, self.now_s, self.preset = state["next_sequence"], state["now_s"], state["preset"]
        self.compared_task = state["compared_task"]
        self.windows.restore(state["windows"], self.first_task_id)
        self.stream.restore(state["stream"])
        self._numbering.restore(state["numbering"])
        for racer in self.racers:
            with strategy_errors_at(racer.name, "brought back"):
                racer.restore(state["racers"][racer.name])
        self.learners.restore(state["learners"])
        self.proof.restore(state["proof"])
        self.hidden.restore(state["hidden"])
        self.marks.extend(state["marks"])
        self.recent.extend(state["recent"])
        self.branch = state["branch"]


def _stream_of(course: Course, first_task_id: int) -> TaskStream | TraceStream:
    if course.trace is not None:
        return TraceStream(course.trace.batch, first_task_id=first_task_id)
    return TaskStream(course.workload, course.seed, first_task_id=first_task_id)


def _captured(racer: Racer) -> Mapping[str, Any]:
    with strategy_errors_at(racer.name, "captured"):
        return racer.capture()


def _own(task: Task, first_task_id: int) -> Task:
    """A task of a run that branched off, as it is kept: parents from before are tasks of the run that was left."""
    return task._replace(dependencies=tuple(one for one in task.dependencies if one >= first_task_id))


def _count_from(race: Lockstep, first_task_id: int) -> None:
    """Compare the strategies from this task on; their queues and what they learned stay."""
    race.compared_task = first_task_id - 1
    for racer in race.racers:
        racer.count_from(first_task_id)


def _compare(race: Lockstep) -> None:
    """Let every comparison end where the one rule about it says."""
    done, last = [racer.tally.done_up_to for racer in race.racers], race.next_task_id - 1
    up_to = compared_up_to(done, race.first_task_id, last, race.compared_task)
    if up_to > race.compared_task:
        race.compared_task = up_to
        race.windows.compare(up_to)
        race.proof.compare(up_to)
        for racer in race.racers:
            racer.tally.compare(up_to)
