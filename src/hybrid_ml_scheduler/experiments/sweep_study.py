"""A sweep from grid to PDF: cells and tables, then plots and report of whatever is there."""

from __future__ import annotations

from hybrid_ml_scheduler.experiments.comparison import Step, remake, silent
from hybrid_ml_scheduler.experiments.engines import Engine, LocalEngine
from hybrid_ml_scheduler.experiments.folder import ResultsFolder
from hybrid_ml_scheduler.experiments.sweep import CELLS, Sweep, run_cells

__all__ = ["study_steps", "study_sweep"]


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


def study_steps(sweep: Sweep) -> int:
    """How many steps `study_sweep` reports: cells, plots and the report."""
    from hybrid_ml_scheduler.experiments.plots import SWEEP_PLOTS

    return len(sweep.cells) + len(SWEEP_PLOTS) + 1
