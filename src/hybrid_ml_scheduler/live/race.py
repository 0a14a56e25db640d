"""The race itself: all strategies in lock-step on one stream. No thread, no wall clock, no store.

The same course and the same events at the same task boundaries give the same rows. Everything from outside (a shift,
a foreign task, a trained model taking over) is therefore an event with its boundary, handed on with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.live.frames import Shift
from hybrid_ml_scheduler.live.learners import TrainedModel, TrainingJob
from hybrid_ml_scheduler.live.lockstep import Lockstep
from hybrid_ml_scheduler.live.records import Activation, Course, EventKind, RaceEvent, shift_words
from hybrid_ml_scheduler.live.script import FOLLOWED, Script
from hybrid_ml_scheduler.physics.durations import can_run
from hybrid_ml_scheduler.physics.truth import Drift
from hybrid_ml_scheduler.workload import TraceStream, WorkloadParameters
from hybrid_ml_scheduler.workload.draws import kind_names

__all__ = ["Race"]

_FARTHEST_S = 3600.0


class Race(Lockstep):
    """One run: the strategies in lock-step, and what comes to them from outside.

    A run that branched off may have a script: the shifts and tasks from outside that the run it left met later. They
    come at the same places of the stream, until somebody shifts this run itself.
    """

    def __init__(self, course: Course, *, run_id: int, first_task_id: int) -> None:
        super().__init__(course, run_id=run_id, first_task_id=first_task_id)
        self._script = Script()

    def follow(self, script: Iterable[RaceEvent]) -> None:
        """Meet these events, too, each before its task; they are in the order in which they happened."""
        self._script = Script(script)

    def _meet_script(self, most: int) -> int:
        while (event := self._script.due(self.next_task_id)) is not None:
            self._follow(event)
        return self._script.tasks_until_next(self.next_task_id, most)

    def _follow(self, event: RaceEvent) -> None:
        if event.kind == "shift":
            facts = {**event.payload, **_place(self), FOLLOWED: True}
            self._shifted(self._note("shift", facts, event.at))
        else:
            entered = Task.from_mapping(event.payload)
            arrival = max(entered.arrival_time, self.now_s)
            entered = entered._replace(task_id=self.next_task_id, arrival_time=arrival)
            self._note("task", entered._asdict() | {FOLLOWED: True}, event.at)
            self._admitted(entered)

    def foreign(self, task: Task) -> Task:
        """Return a task from outside as the next one, with its id and its arrival; refuse one that cannot enter."""
        arrival = max(task.arrival_time, self.now_s)
        if arrival > self.now_s + _FARTHEST_S:
            raise PlanError(f"arrival_time = {arrival:g} is more than an hour ahead of the clock ({self.now_s:g} s).")
        if task.gpus_required > self.course.node.num_gpus:
            raise PlanError(
                f"gpus_required = {task.gpus_required}: the node of the race has "
                f"{amount(self.course.node.num_gpus, 'GPU')}."
            )
        if task.divisible and (task.gpus_required != 1 or task.gpu_only):
            needs = "only GPUs" if task.gpu_only else "several GPUs at once" if task.gpus_required else "no GPU"
            raise PlanError(f"divisible: a task that needs {needs} cannot be cut.")
        if task.gpu_only and task.gpus_required == 0:
            raise PlanError("runs_on = gpu and gpus_required = 0 contradict.")
        if not can_run(task, self.course.node):
            raise PlanError(
                f"memory_required = {task.memory_required:g}: a task that runs on GPUs only fits no GPU of the race's "
                "node."
            )
        for parent in task.dependencies:
            if not self.first_task_id <= parent < self.next_task_id:
                raise PlanError(f"dependencies: task {parent} is not a task of the present run.")
        return task._replace(task_id=self.next_task_id, arrival_time=arrival)

    def admit(self, task: Task, at: float) -> Task:
        """Let a task from outside in, as the next one; returns it with its id and its arrival."""
        entered = self.foreign(task)
        self._note("task", entered._asdict(), at)
        self._script.push_back()
        self._admitted(entered)
        return entered

    def shift(self, preset: str, workload: WorkloadParameters, at: float) -> Shift:
        """Let the stream follow other laws from the next task on; what a script still holds is given up."""
        self._script.give_up()
        return self._shifted(self._note("shift", self._laws(preset, workload), at))

    def drift(self, drift: Drift, at: float) -> Shift:
        """Let real durations of some kinds change from the next task on; it is marked like a shift."""
        self._script.give_up()
        facts = self._laws(self.preset, self.workload) | {"drift": drift.to_mapping()}
        return self._shifted(self._note("shift", facts, at))

    def _laws(self, preset: str, workload: WorkloadParameters) -> dict[str, Any]:
        """What a shift changes, and where in the run."""
        return {
            "preset": preset,
            "workload": workload.to_mapping(),
            "arrival_rate": workload.arrival_rate,
            **_place(self),
        }

    def set_stride(self, stride: int, at: float) -> None:
        """Let the agent update once every `stride` tasks from the next task on."""
        if stride != self.learners.stride:
            self._note("stride", {"stride": stride}, at)
            self.learners.set_stride(stride)

    def activate(self, job: TrainingJob, model: TrainedModel, at: float) -> Activation:
        """Let a model trained in the background decide from the next task on."""
        facts = {
            "scheduler": job.scheduler,
            "requested_at": job.requested_at,
            "samples": model.samples,
            "error": model.error,
            "duration_s": model.duration_s,
            "digest": model.digest,
        }
        event = self._note("model", facts, at)
        done = self.learners.take_over(job.scheduler, model, event.boundary, at)
        self.rows.activations.append(done)
        return done

    def call_back(self, scheduler: str, at: float) -> Activation:
        """Let a strategy's earlier model decide from the next task on."""
        self.learners.refuse_call_back(scheduler)
        event = self._note("recall", {"scheduler": scheduler}, at)
        done = self.learners.call_back(scheduler, event.boundary, at)
        self.rows.activations.append(done)
        return done

    def apply(self, event: RaceEvent, model: TrainedModel | None = None) -> None:
        """Do again what a stored event did; nothing is handed on, because it is stored."""
        self.next_sequence = event.sequence + 1
        facts = dict(event.payload)
        self._script.catch_up(event.kind, is_followed=facts.pop(FOLLOWED, False))
        if event.kind == "shift":
            self._shifted(event)
        elif event.kind == "stride":
            self.learners.set_stride(facts["stride"])
        elif event.kind == "recall":
            self.learners.call_back(facts["scheduler"], event.boundary, event.at)
        elif event.kind == "task":
            self._admitted(Task.from_mapping(facts))
        elif model is not None:
            told = replace(model, duration_s=facts["duration_s"])
            self.learners.take_over(facts["scheduler"], told, event.boundary, event.at)

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state before the next task, picklable."""
        return {**super().capture(), "script": self._script.capture()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state of the same course."""
        super().restore(state)
        self._script = Script(state["script"])

    def _shifted(self, event: RaceEvent) -> Shift:
        facts = event.payload
        self.preset = facts["preset"]
        self.stream.shift(WorkloadParameters().with_values(facts["workload"]))
        if "drift" in facts:
            self.hidden.drift(Drift(**facts["drift"]), self._kinds())
        mark = Shift(
            task_id=event.boundary,
            tasks_processed=self.tasks_processed,
            simulated_time_s=self.now_s,
            at=event.at,
            workload=facts["preset"],
            arrival_rate=facts["arrival_rate"],
            message=shift_words(facts, event.boundary),
        )
        self.marks.append(mark)
        self.windows.shift(event.boundary, self.now_s)
        for racer in self.racers:
            racer.tally.shift(event.boundary)
        return mark

    def _kinds(self) -> tuple[str, ...]:
        """The kinds of work that may drift."""
        if isinstance(self.stream, TraceStream):
            return self.stream.kind_names
        return kind_names(self.workload)[1:] or ("",)

    def _admitted(self, task: Task) -> None:
        self._numbering.insert(self.stream.next_task_id)
        self._enter(task, 1.0, until_s=self.now_s, explain=task.arrival_time <= self.now_s)
        self.rows.activations += self.learners.after_task(self.next_task_id)

    def _note(self, kind: EventKind, payload: Mapping[str, Any], at: float) -> RaceEvent:
        event = RaceEvent(
            sequence=self.next_sequence, boundary=self.next_task_id, kind=kind, payload=dict(payload), at=at
        )
        self.next_sequence += 1
        self.rows.events.append(event)
        return event


def _place(race: Race) -> dict[str, Any]:
    return {"tasks_processed": race.tasks_processed, "simulated_time_s": race.now_s}
