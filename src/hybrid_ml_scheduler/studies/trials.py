"""One strategy on the tasks of one seed, as a job that any process on any machine can do."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster import RunColumns, Summary, certificate, summarize
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.overload import overload_words
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.studies.headline import judged_metric
from hybrid_ml_scheduler.studies.pareto import time_energy_front
from hybrid_ml_scheduler.studies.running import Entrant, Progress, hardware_assumptions, hidden_notes, run_known

__all__ = ["FLOOR", "Record", "Trial", "Watcher", "figures_of", "known_tasks", "run_trial", "summary_of", "trials_of"]

Watcher = Callable[[Entrant, int, TaskBatch, RunColumns], None]

FLOOR = "floor"
_LONGEST = "rl_hold"  # it plays its latest tasks again under every setting
_PER_TASK = ("latency_s", "execution_s", "energy_j", "cost_usd")
_PLACEMENT = ("gpu_fraction", "gpu", "cpu_start_s", "cpu_s", "gpu_start_s", "gpu_s")
_WORKLOAD = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What to run; without an entrant it is the floor: bounds, fronts and the tasks themselves.

    `keeps` says what is kept beside the figures: nothing, a number for each task, or also where its parts ran.
    """

    plan: Plan
    seed: int
    entrant: Entrant | None = None
    keeps: Literal["figures", "tasks", "placement"] = "tasks"

    @property
    def name(self) -> str:
        """The strategy's name, or `floor`."""
        return FLOOR if self.entrant is None else self.entrant.name

    @property
    def label(self) -> str:
        """A name for files and progress bars."""
        return f"{self.name}-{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """What came of a trial: figures, and columns with one number a task."""

    name: str
    seed: int
    figures: Mapping[str, Any]
    columns: Mapping[str, npt.NDArray[Any]]

    def to_bytes(self) -> bytes:
        """The record as a NumPy archive; nothing in it needs to be unpickled."""
        head = json.dumps({"name": self.name, "seed": self.seed, "figures": self.figures}, sort_keys=True)
        packed = io.BytesIO()
        arrays: dict[str, Any] = {f"column_{name}": data for name, data in self.columns.items()}
        np.savez(packed, head=np.array(head), **arrays)
        return packed.getvalue()

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read a stored record."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                head = json.loads(str(archive["head"]))
                columns = {key[7:]: archive[key] for key in archive.files if key.startswith("column_")}
        except (OSError, ValueError, KeyError) as error:
            raise HmsError(f"{path} is not a stored trial ({error}); delete it and run again.") from error
        return cls(columns=columns, **head)


def trials_of(plan: Plan, strategies: Sequence[Entrant]) -> list[Trial]:
    """All trials of a plan: for every seed the floor and every strategy; placements are kept for the first seed.

    Learners come first, those that replay before all others: what takes longest should begin early.
    """
    seeds = range(plan.seed, plan.seed + plan.seeds)
    runners = [
        *sorted(strategies, key=lambda one: (one.learning == "none", one.name.partition("@")[0] != _LONGEST)),
        None,
    ]
    return [
        Trial(plan=plan, seed=seed, entrant=entrant, keeps="placement" if seed == plan.seed else "tasks")
        for entrant in runners
        for seed in seeds
    ]


def known_tasks(plan: Plan, seed: int) -> KnownTasks:
    """Make the tasks of one seed, and what is known about them."""
    return KnownTasks(
        batch=plan.tasks(seed),
        node=plan.node,
        truth=plan.hidden,
        seed=seed,
        nominal_backlogs=plan.nominal_backlogs,
    )


def run_trial(
    trial: Trial, *, known: KnownTasks | None = None, progress: Progress | None = None, watch: Watcher | None = None
) -> Record:
    """Do one trial, on tasks that are `known` already or are made for it."""
    known = known_tasks(trial.plan, trial.seed) if known is None else known
    entrant = trial.entrant
    if entrant is None:
        return _floor(trial, known)
    interval = trial.plan.retrain_interval
    columns = run_known(entrant.make(), known, entrant.level, retrain_interval=interval, progress=progress)
    if watch is not None:
        watch(entrant, trial.seed, known.batch, columns)
    names = {"figures": (), "tasks": _PER_TASK, "placement": (*_PER_TASK, *_PLACEMENT)}[trial.keeps]
    return Record(
        name=trial.name,
        seed=trial.seed,
        figures={"learning": entrant.learning, **figures_of(summarize(columns, known.fastest_s, known.batch.deadline))},
        columns={name: np.asarray(getattr(columns, name)) for name in names},
    )


def figures_of(summary: Summary) -> dict[str, Any]:
    """A summary as flat figures, one a column of a table."""
    found = asdict(summary)
    shares = found.pop("utilization")
    return {**found, **{f"utilization_{device}": share for device, share in shares.items()}}


def summary_of(figures: Mapping[str, Any]) -> Summary:
    """The summary that flat figures were made from."""
    prefix = "utilization_"
    shares = {key.removeprefix(prefix): value for key, value in figures.items() if key.startswith(prefix)}
    plain = {one.name: figures[one.name] for one in fields(Summary) if one.name != "utilization"}
    return Summary(utilization=shares, **plain)


def _floor(trial: Trial, known: KnownTasks) -> Record:
    node, batch, seconds = trial.plan.node, known.batch, known.true
    bound = certificate(batch, node, seconds)
    columns: dict[str, npt.NDArray[Any]] = {} if trial.keeps == "figures" else {"best_s": known.fastest_s}
    if trial.keeps == "placement":
        columns.update({name: getattr(batch, name) for name in _WORKLOAD})
        columns.update({"cpu_s": seconds.cpu_s, "gpu_s": seconds.on_gpu(0)})
        columns["front_time_s"], columns["front_energy_j"] = time_energy_front(batch, node, seconds)
    assumptions = [*batch.assumptions, *hardware_assumptions(trial.plan, batch), *hidden_notes(trial.plan, known)]
    figures = {
        **asdict(bound),
        "binding": bound.binding,
        "tasks": len(batch),
        "assumptions": assumptions,
        "judged_by": judged_metric(batch),
        "overload": overload_words(batch, node, seconds),
    }
    return Record(name=FLOOR, seed=trial.seed, figures=figures, columns=columns)
