"""A comparison from plan to PDF, in phases that are each whole: simulate, plots, report."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.experiments.engines import Engine, Failure, LocalEngine
from hybrid_ml_scheduler.experiments.folder import ResultsFolder, write_whole
from hybrid_ml_scheduler.experiments.plans import Plan
from hybrid_ml_scheduler.experiments.race import Entrant
from hybrid_ml_scheduler.experiments.results import SAME_TASKS, versions
from hybrid_ml_scheduler.experiments.tables import repeated, tables_of, wide_report
from hybrid_ml_scheduler.experiments.trials import FLOOR, Record, run_trial, trials_of
from hybrid_ml_scheduler.hardware.machine import cpu_model

__all__ = [
    "Step",
    "carry_out",
    "compare",
    "computing_facts",
    "draw_plots",
    "forget_trials",
    "records_of",
    "remake",
    "silent",
    "simulate",
    "steps_of",
    "write_report",
]

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
) -> None:
    """Run every trial that is not there yet, then build and store the tables."""
    with folder.phase("simulate"):
        trials = {trial.label: trial for trial in trials_of(plan, strategies)}
        records = records_of(folder, trials, run_trial, engine or LocalEngine(), step)
        tables = tables_of(records, [entrant.name for entrant in strategies])
        for name, frame in tables.items():
            folder.write_table(name, frame, csv=name not in _LONG)
        folder.write_csv(report_name, wide_report(tables["intervals"]))
        folder.write_json("run.json", _run_facts(folder, plan, strategies, records))
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
    return {
        "kind": folder.kind,
        "plan": plan.to_mapping(),
        "plan_digest": plan.digest,
        "tasks": len(floor.columns["best_s"]),
        "seeds": plan.seeds,
        "assumptions": [*floor.figures["assumptions"], *([SAME_TASKS] if repeated(floors) else [])],
        "bound": floor.figures["binding"],
        "schedulers": {entrant.name: entrant.learning for entrant in strategies},
        "hardware": "default physics" if plan.node.curves is None else plan.node.curves.source,
        **computing_facts(),
    }


def computing_facts() -> dict[str, Any]:
    """With what a result was computed: versions of the parts, and the machine."""
    machine = {"cpu": cpu_model(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}
    return {"versions": versions(), "machine": machine}


def _drawn(job: tuple[Path, str]) -> dict[str, bytes]:
    from hybrid_ml_scheduler.experiments.plots import draw

    path, name = job
    return draw(name, ResultsFolder.open(path).read_table)


def draw_plots(folder: ResultsFolder, *, engine: Engine | None = None, step: Step = silent) -> None:
    """Draw every plot that the stored tables allow, as PNG and SVG."""
    from hybrid_ml_scheduler.experiments.plots import plots_for

    forget_trials(folder)  # once more: an interrupt may have come just after the simulation was marked as done
    with folder.phase("plots"):
        names = plots_for(folder.tables(), folder.read_table)
        jobs = [(folder.path, name) for name in names]
        for index, outcome in (engine or LocalEngine()).results(_drawn, jobs):
            if isinstance(outcome, Failure):
                raise HmsError(f"The plot {names[index]} cannot be drawn: {outcome.reason}")
            for suffix, data in outcome.items():
                folder.write_bytes(f"plots/{names[index]}.{suffix}", data)
            step(names[index])


def write_report(folder: ResultsFolder) -> None:
    """Write the PDF from the stored tables and plots."""
    from hybrid_ml_scheduler.experiments.report import report_pdf

    with folder.phase("report"):
        folder.write_bytes("report.pdf", report_pdf(folder))


def remake(folder: ResultsFolder, *, engine: Engine | None = None, step: Step = silent) -> None:
    """Plots and PDF again from what is stored; nothing is simulated."""
    if not folder.is_done("cells" if folder.kind == "sweep" else "simulate"):
        raise HmsError(f"{folder.path}: the simulation is not finished or its tables were changed; run it again.")
    if not folder.tables():
        raise HmsError(f"{folder.path}: no cell of the sweep has a result, so there is nothing to draw.")
    draw_plots(folder, engine=engine, step=step)
    write_report(folder)
    step("report")
    # A sweep goes on where cells failed; its folder stays unfinished until they are there.
    if not folder.read_json("run.json").get("failures"):
        folder.complete()


def compare(
    folder: ResultsFolder,
    plan: Plan,
    strategies: Sequence[Entrant],
    *,
    report_name: str = "report.csv",
    engine: Engine | None = None,
    step: Step = silent,
) -> None:
    """Everything from plan to PDF; phases that are done and unchanged are not done again."""

    def simulation() -> None:
        simulate(folder, plan, strategies, report_name=report_name, engine=engine, step=step)

    carry_out(folder, simulation, engine=engine, step=step)


def carry_out(
    folder: ResultsFolder, simulation: Callable[[], None], *, engine: Engine | None = None, step: Step = silent
) -> None:
    """Simulate unless that is done, then draw and report; a finished folder is left as it is."""
    if not folder.is_done("simulate"):
        simulation()
    elif folder.is_complete and folder.is_done("plots") and folder.is_done("report"):
        return
    remake(folder, engine=engine, step=step)


def steps_of(plan: Plan, strategies: Sequence[Entrant]) -> int:
    """How many steps `compare` reports at most: trials, plots and the report."""
    from hybrid_ml_scheduler.experiments.plots import COMPARISON_PLOTS

    return len(trials_of(plan, strategies)) + len(COMPARISON_PLOTS) + 1
