"""A comparison simulated: every trial stored whole as it ends, then the tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.plans.inputs import hardware_words, run_facts
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.studies.engines import Engine, Failure, LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.headline import headline
from hybrid_ml_scheduler.studies.race import Entrant
from hybrid_ml_scheduler.studies.results import SAME_TASKS
from hybrid_ml_scheduler.studies.tables import (
    ratio_table,
    samples_by_seed,
    seeds_are_alike,
    standpoints,
    tables_of,
    wide_report,
)
from hybrid_ml_scheduler.studies.trials import FLOOR, Record, run_trial, trials_of

__all__ = ["Step", "forget_trials", "records_of", "silent", "simulate"]

Step = Callable[[str], None]
Job = TypeVar("Job")
_LONG = ("tasks", "workload")


def silent(_: str) -> None:
    """Nobody is watching."""


def simulate(
    folder: ResultsFolder,
    plan: Plan,
    strategies: Sequence[Entrant],
    *,
    report_name: str,
    engine: Engine | None = None,
    step: Step = silent,
    notes: Sequence[str] = (),
) -> None:
    """Run every trial that is not there yet, then build and store the tables; `notes` join the assumptions."""
    with folder.phase("simulate"):
        trials = {trial.label: trial for trial in trials_of(plan, strategies)}
        records = records_of(folder, trials, run_trial, engine or LocalEngine(), step)
        tables = tables_of(records, [entrant.name for entrant in strategies])
        metrics = tables["metrics"]
        learning = {entrant.name: entrant.learning for entrant in strategies}
        views = standpoints(metrics, learning, {entrant.name: entrant.level for entrant in strategies})
        tables["ratios"] = ratio_table(metrics, views)
        for name, frame in tables.items():
            folder.write_table(name, frame, csv=name not in _LONG)
        folder.write_csv(report_name, wide_report(tables["intervals"]))
        facts = _run_facts(folder, plan, strategies, records)
        judged_by = facts["judged_by"]
        facts["headline"] = headline(judged_by, samples_by_seed(metrics, judged_by), views)
        folder.write_json("run.json", {**facts, "assumptions": [*facts["assumptions"], *notes]})
    forget_trials(folder)


def forget_trials(folder: ResultsFolder) -> None:
    """Delete the trials of a simulation that has ended: the tables hold all that is needed from then on."""
    shutil.rmtree(folder.path / "trials", ignore_errors=True)


def records_of(
    folder: ResultsFolder, jobs: Mapping[str, Job], work: Callable[[Job], Record], engine: Engine, step: Step
) -> list[Record]:
    """The records of all jobs by their labels, those of an interrupted run read back."""
    places = {label: folder.path / "trials" / f"{label}.npz" for label in jobs}
    missing = [label for label, place in places.items() if not place.is_file()]
    for label in places:
        if label not in missing:
            step(label)
    for index, outcome in engine.results(work, [jobs[label] for label in missing]):
        label = missing[index]
        if isinstance(outcome, Failure):
            raise HmsError(f"{label}: {outcome.reason}")
        write_whole(places[label], outcome.to_bytes())
        step(label)
    return [Record.load(place) for place in places.values()]


def _run_facts(
    folder: ResultsFolder, plan: Plan, strategies: Sequence[Entrant], records: Sequence[Record]
) -> dict[str, Any]:
    floors = [record for record in records if record.name == FLOOR]
    floor = floors[0]
    return run_facts(
        folder.kind,
        plan.to_mapping(),
        plan.digest,
        tasks=len(floor.columns["best_s"]),
        seeds=plan.seeds,
        assumptions=[*floor.figures["assumptions"], *([SAME_TASKS] if seeds_are_alike(floors) else [])],
        bound=floor.figures["binding"],
        schedulers={entrant.name: entrant.learning for entrant in strategies},
        knowledge={entrant.name: entrant.level for entrant in strategies},
        hardware=hardware_words(plan.node),
        judged_by=floor.figures["judged_by"],
        overload=floor.figures["overload"],
    )
