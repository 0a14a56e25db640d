"""A study from plan to PDF, in phases that are each whole: simulate, plots, report; or plots and PDF once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.reports.plots import (
    COMPARISON_PLOTS,
    KNOWLEDGE_PLOTS,
    SHIFT_PLOTS,
    SWEEP_PLOTS,
    draw,
    plots_for,
)
from hybrid_ml_scheduler.studies.comparison import Step, forget_trials, silent, simulate
from hybrid_ml_scheduler.studies.engines import Engine, Failure, LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.knowledge_study import PriceStudy, simulate_knowledge
from hybrid_ml_scheduler.studies.race import Entrant
from hybrid_ml_scheduler.studies.shift_study import ShiftStudy, simulate_shift
from hybrid_ml_scheduler.studies.sweep import CELLS, Sweep, run_cells
from hybrid_ml_scheduler.studies.trials import trials_of

__all__ = [
    "KNOWLEDGE_STEPS",
    "comparison_steps",
    "draw_plots",
    "remake",
    "shift_steps",
    "study_comparison",
    "study_knowledge",
    "study_shift",
    "study_sweep",
    "sweep_steps",
    "write_report",
]


KNOWLEDGE_STEPS = len(KNOWLEDGE_PLOTS) + 1  # beside the trials: plots and the report
# The phase that makes the tables, where it is not called "simulate".
_FIRST_PHASES = {"sweep": "cells", "recommend": "search"}


def _drawn(job: tuple[Path, str]) -> dict[str, bytes]:
    path, name = job
    return draw(name, ResultsFolder.open(path).read_table)


def draw_plots(folder: ResultsFolder, *, engine: Engine | None = None, step: Step = silent) -> None:
    """Draw every plot that the stored tables allow, as PNG and SVG."""
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
    from hybrid_ml_scheduler.reports.report import report_pdf

    with folder.phase("report"):
        folder.write_bytes("report.pdf", report_pdf(folder))


def remake(folder: ResultsFolder, *, engine: Engine | None = None, step: Step = silent) -> None:
    """Plots and PDF again from what is stored; nothing is simulated."""
    if not folder.is_done(_FIRST_PHASES.get(folder.kind, "simulate")):
        raise HmsError(f"{folder.path}: the simulation is not finished or its tables were changed; run it again.")
    if not folder.tables():
        raise HmsError(f"{folder.path}: no cell of the sweep has a result, so there is nothing to draw.")
    draw_plots(folder, engine=engine, step=step)
    write_report(folder)
    step("report")
    # A sweep goes on where cells failed; its folder stays unfinished until they are there.
    if folder.kind == "recommend" or not folder.read_json("run.json").get("failures"):
        folder.complete()


def study_comparison(
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


def comparison_steps(plan: Plan, strategies: Sequence[Entrant]) -> int:
    """How many steps `study_comparison` reports at most: trials, plots and the report."""
    return len(trials_of(plan, strategies)) + len(COMPARISON_PLOTS) + 1


def study_shift(
    folder: ResultsFolder, study: ShiftStudy, *, engine: Engine | None = None, step: Step = silent
) -> dict[str, Any]:
    """Do what is not done yet, from the seeds to the PDF, and return the result."""
    carry_out(folder, lambda: simulate_shift(folder, study, engine or LocalEngine(), step), engine=engine, step=step)
    return dict(folder.read_json("shift.json"))


def shift_steps(study: ShiftStudy) -> int:
    """How many steps `study_shift` reports: seeds, plots and the report."""
    return study.seeds + len(SHIFT_PLOTS) + 1


def study_sweep(
    sweep: Sweep, folder: ResultsFolder, engine: Engine, *, local: LocalEngine | None = None, step: Step = silent
) -> dict[str, str]:
    """Do what is not done yet and return the failures by cell; plots are drawn on this machine, wherever cells run."""
    if folder.is_complete and all(folder.is_done(phase) for phase in (CELLS, "plots", "report")):
        return {}
    failures = run_cells(sweep, folder, engine, step)
    if folder.tables():
        remake(folder, engine=local, step=step)
    return failures


def study_knowledge(
    folder: ResultsFolder, study: PriceStudy, *, engine: Engine | None = None, step: Step = silent
) -> None:
    """Do what is not done yet, from the levels of knowledge to the PDF."""
    simulation = partial(simulate_knowledge, folder, study, engine or LocalEngine(), step)
    carry_out(folder, simulation, engine=engine, step=step)


def sweep_steps(sweep: Sweep) -> int:
    """How many steps `study_sweep` reports: cells, plots and the report."""
    return len(sweep.cells) + len(SWEEP_PLOTS) + 1
