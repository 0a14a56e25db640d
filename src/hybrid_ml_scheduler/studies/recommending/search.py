"""Which node and which policy: the cheapest that keep a promise, found with paired seeds and early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.cluster import summarize
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.physics import Durations, Node, durations
from hybrid_ml_scheduler.physics.durations import gpu_kinds
from hybrid_ml_scheduler.physics.typed_times import TimeSource, typed_times
from hybrid_ml_scheduler.plans.candidates import Candidate
from hybrid_ml_scheduler.plans.intervals import Interval, bounded_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.promises import Promise
from hybrid_ml_scheduler.plans.time_notes import time_notes
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.workload.wide_gangs import without_wide_gangs

__all__ = ["DEFAULT_POLICIES", "Answer", "Question", "Trial", "recommend"]

# Compiled strategies that need no training: a search over nodes runs each of them many times.
DEFAULT_POLICIES = (
    "earliest_finish",
    "earliest_device",
    "frugal_finish",
    "oracle",
    "greedy",
    "gpu_only",
    "round_robin",
    "cpu_only",
)
_FIRST_SEEDS = 2
# What is being done, how many runs are done, and how many there will be as far as is known by now.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: a workload, nodes, policies, a promise, and how many seeds may be spent."""

    workload: WorkloadChoice
    nodes: tuple[Candidate, ...]
    policies: tuple[str, ...]
    promise: Promise
    seed: int = 0
    seeds: int = 5

    @property
    def pairs(self) -> int:
        """How many pairs of a node and a policy there are."""
        return len(self.nodes) * len(self.policies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One policy on one node: the promised metric over seeds, and whether the promise is kept, broken or open."""

    node: str
    policy: str
    price_usd_h: float
    interval: Interval
    limit: float

    @property
    def verdict(self) -> str:
        """`kept` or `broken` where the whole interval says so (one value: where it says so), else `open`."""
        low, high = self.interval.low, self.interval.high
        if math.isnan(low):
            low = high = self.interval.mean
        if math.isnan(self.interval.mean) or low > self.limit:
            return "broken"
        return "kept" if high <= self.limit else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The recommendation (None where no node keeps the promise), and all that it hangs on.

    `drawn` says whether seeds give other tasks; where they do not, one run is all there is to see.
    """

    best: Trial | None
    cheaper: Trial | None
    nearest: Trial
    trials: tuple[Trial, ...]
    variations: Mapping[str, str]
    assumptions: tuple[str, ...]
    tasks: int
    drawn: bool


def recommend(question: Question, progress: Progress | None = None, log: RunLog | None = None) -> Answer:
    """Search nodes and policies; pairs that are decided, or too dear to matter, get no more seeds.

    Runs that the log knows are not made again.
    """
    if not question.policies:
        raise PlanError("A recommendation needs at least one policy.")
    values: dict[tuple[int, str], list[float]] = {}
    batches: dict[int, TaskBatch] = {}
    log = log or RunLog()
    meter = _Meter(progress, question.pairs)
    for step in range(question.seeds):
        seed = question.seed + step
        batches[step] = _tasks(question, seed)
        drawn = step == 0 or not _same(batches[0], batches[step])
        if not drawn:
            break  # every seed gives these tasks
        live = _open_pairs(question, values, step)
        if not live:
            break
        meter.doing(f"seed {step + 1} of at most {question.seeds}", sum(map(len, live.values())))
        _run(_Runs(question, batches[step], seed, log, meter), live, values)
    trials = _trials(question, values)
    best = _best(trials)
    return Answer(
        best=best,
        cheaper=_next_cheaper(trials, best),
        nearest=min(trials, key=lambda one: (_worth(one), one.price_usd_h)),
        trials=tuple(trials),
        variations=_variations(question, batches[0], best, log, meter),
        assumptions=(*batches[0].assumptions, *_notes(question, batches[0])),
        tasks=len(batches[0]),
        drawn=drawn,
    )


def _tasks(question: Question, seed: int) -> TaskBatch:
    """The tasks of a seed that every node can hold; arrival times are the same for all, those for the first one."""
    fewest = min(one.node.num_gpus for one in question.nodes)
    batch = question.workload.tasks(seed, question.nodes[0].node)
    return without_wide_gangs(batch, fewest, question.workload.source)


def _same(one: TaskBatch, other: TaskBatch) -> bool:
    names = ("size", "compute_intensity", "memory_required", "arrival_time", "speedup_factor", "duration_factor")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names)


def _open_pairs(
    question: Question, values: Mapping[tuple[int, str], Sequence[float]], step: int
) -> dict[int, list[str]]:
    """The policies of each node that another seed could still change the answer of."""
    everything = {place: list(question.policies) for place in range(len(question.nodes))}
    if step < _FIRST_SEEDS:
        return everything
    trials = {
        (place, name): _trial(question, place, name, values[place, name])
        for place in everything
        for name in question.policies
    }
    kept = [one.price_usd_h for one in trials.values() if one.verdict == "kept"]
    ceiling = min(kept, default=math.inf)
    found: dict[int, list[str]] = {}
    for (place, name), trial in trials.items():
        cheap = trial.price_usd_h <= ceiling
        if cheap and trial.verdict != "broken":
            found.setdefault(place, []).append(name)
    undecided = any(one.verdict == "open" and one.price_usd_h <= ceiling for one in trials.values())
    return found if undecided else {}


class _Meter:
    """Counts the runs for whoever watches; a watcher that raises ends the search, whose log keeps what was done."""

    def __init__(self, told: Progress | None, pairs: int) -> None:
        self._told = told
        self._label, self._done, self._total = "reading the tasks", 0, pairs
        self._tell()

    def doing(self, label: str, runs: int, later: int = 0) -> None:
        """Begin so many runs of one kind, after which so many others will follow."""
        self._label, self._total = label, self._done + runs + later
        self._tell()

    def one_more(self) -> None:
        """Count a run."""
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._told is not None:
            self._told(self._label, self._done, self._total)


class _Runs(NamedTuple):
    """The runs of one batch on all nodes, and where they are kept; `what` tells them from those of other batches."""

    question: Question
    batch: TaskBatch
    seed: int
    log: RunLog
    meter: _Meter
    what: str = "seeds"
    slower: float = 1.0

    def key(self, place: int, name: str) -> str:
        """The name of one run in the log."""
        return f"{self.what}|{self.seed}|{place}|{name}"

    def seconds(self, node: Node) -> Durations:
        """The durations on a node, those that rest on published figures times a factor."""
        found = durations(self.batch, node)
        if self.slower == 1.0:
            return found
        factors = np.where(_scaled(self.batch, node), self.slower, 1.0)
        paged = found.paged_s * factors if found.paged_s.size else found.paged_s
        return replace(found, gpu_s=found.gpu_s * factors, paged_s=paged)


def _run(runs: _Runs, pairs: Mapping[int, Sequence[str]], values: dict[tuple[int, str], list[float]]) -> None:
    """Make the runs that are not known yet, and gather all of them."""
    for place, names in pairs.items():
        node, seconds = runs.question.nodes[place].node, None
        for name in names:
            value = runs.log.value_of(runs.key(place, name))
            if value is None:
                seconds = runs.seconds(node) if seconds is None else seconds
                columns = run_scheduler(create(name), runs.batch, node, seed=runs.seed, seconds=seconds)
                summary = summarize(columns)
                value = math.nan if summary.failed_count else float(getattr(summary, runs.question.promise.metric))
                runs.log.keep(runs.key(place, name), value)
            values.setdefault((place, name), []).append(value)
            runs.meter.one_more()


def _trial(question: Question, place: int, name: str, found: Sequence[float]) -> Trial:
    node = question.nodes[place]
    return Trial(
        node=node.name,
        policy=name,
        price_usd_h=node.price_usd_h,
        interval=bounded_interval(found),
        limit=question.promise.limit,
    )


def _trials(question: Question, values: Mapping[tuple[int, str], Sequence[float]]) -> list[Trial]:
    return [_trial(question, place, name, found) for (place, name), found in values.items()]


def _worth(trial: Trial) -> float:
    """The promised metric, where it is known."""
    return math.inf if math.isnan(trial.interval.mean) else trial.interval.mean


def _best(trials: Sequence[Trial]) -> Trial | None:
    kept = [one for one in trials if one.verdict == "kept"]
    return min(kept, key=lambda one: (one.price_usd_h, _worth(one))) if kept else None


def _next_cheaper(trials: Sequence[Trial], best: Trial | None) -> Trial | None:
    """The best policy on the dearest node that is cheaper than the answer's: what it would break."""
    below = [one for one in trials if best is not None and one.price_usd_h < best.price_usd_h]
    return min(below, key=lambda one: (-one.price_usd_h, _worth(one))) if below else None


def _variations(question: Question, batch: TaskBatch, best: Trial | None, log: RunLog, meter: _Meter) -> dict[str, str]:
    """The answer if an assumption were otherwise, each found with the first seed's tasks."""
    found = {}
    pairs = {place: list(question.policies) for place in range(len(question.nodes))}
    changes = _changes(question, batch)
    for left, (name, (changed, slower)) in zip(range(len(changes) - 1, -1, -1), changes.items(), strict=True):
        values: dict[tuple[int, str], list[float]] = {}
        meter.doing(f"with {name}", question.pairs, question.pairs * left)
        _run(_Runs(question, changed, question.seed, log, meter, name, slower), pairs, values)
        other = _best(_trials(question, values))
        if other is None:
            found[name] = "no node keeps the promise"
        elif best is not None and (other.node, other.policy) == (best.node, best.policy):
            found[name] = "the same answer"
        elif best is not None and other.node == best.node:
            found[name] = f"the same node with {label_of(other.policy)}"
        else:
            found[name] = f"{other.node} with {label_of(other.policy)}, for ${other.price_usd_h:,.2f} an hour"
    return found


def _changes(question: Question, batch: TaskBatch) -> dict[str, tuple[TaskBatch, float]]:
    """The batch with one assumption changed, and how many times the scaled seconds on GPU types are taken.

    Only assumptions that these tasks rest on.
    """

    def with_column(name: str, column: Any) -> TaskBatch:
        column.flags.writeable = False
        return replace(batch, **{name: column})

    changes = {
        "a quarter more arrivals": with_column("arrival_time", batch.arrival_time / 1.25),
        "a fifth fewer arrivals": with_column("arrival_time", batch.arrival_time / 0.8),
    }
    no_gpu = np.isnan(batch.gpu_time) & np.isnan(batch.gpu_times).all(axis=1)
    if (np.isnan(batch.cpu_time) != no_gpu).any():
        changes["guessed speed-ups a third higher"] = with_column("speedup_factor", batch.speedup_factor * 4 / 3)
        changes["guessed speed-ups a quarter lower"] = with_column("speedup_factor", batch.speedup_factor * 0.75)
    if any(note.startswith("guessed_memory") for note in batch.assumptions):
        changes["twice the guessed memory"] = with_column("memory_required", batch.memory_required * 2.0)
    found = {name: (changed, 1.0) for name, changed in changes.items()}
    if any(_scaled(batch, one.node).any() for one in question.nodes):
        found["GPU types a third slower than their published figures say"] = (batch, 4 / 3)
        found["GPU types a quarter faster than their published figures say"] = (batch, 0.75)
    return found


def _scaled(batch: TaskBatch, node: Node) -> BoolColumn:
    """Which seconds rest on published figures of GPU types: a row for each task, a column for each kind of GPU."""
    kinds = [node.gpus[index] for index in gpu_kinds(node)[0]]
    source = typed_times(batch, node, kinds).source
    by_speed = np.array([bool(gpu.type) and not gpu.dense_speed == gpu.stream_speed == 1.0 for gpu in kinds])
    guessed = (source == TimeSource.FROM_CPU_TIME) | (source == TimeSource.FORMULA)
    found: BoolColumn = (source == TimeSource.SCALED_BY_FIGURES) | (guessed & by_speed)
    return found


def _notes(question: Question, batch: TaskBatch) -> list[str]:
    """What is assumed of the nodes, of the policies and of chance."""
    return [
        *_time_notes(question, batch),
        f"Every node meets the same arrivals, those that were read for {question.nodes[0].name}.",
        "The price of a node is for all of its time, busy or not.",
        "Policies know how long a task will take on each device before it runs (knowledge: exact).",
        "An interval is Student's t over the runs with different seeds, which takes their values as nearly normal, cut "
        "off at 0; over two runs it is wide. Where seeds draw nothing, there is one run and no interval.",
    ]


def _time_notes(question: Question, batch: TaskBatch) -> list[str]:
    """Where the GPU seconds come from; types with the same sentence share it."""
    types: dict[str, list[str]] = {}
    for node in question.nodes:
        names = dict.fromkeys(gpu.type for gpu in node.node.gpus if gpu.type)
        for name, note in zip(names, time_notes(batch, node.node), strict=False):
            shared = types.setdefault(note.replace(f"GPU seconds on {name} ", "GPU seconds on {} ", 1), [])
            shared.extend([name] if name not in shared else [])
    return [note.replace("{}", ", ".join(names), 1) for note, names in types.items()]
