"""The pipeline: profile → data → forest → agent → evaluate → plots → report, each phase whole and resumable."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.reports.making import draw_plots, write_report
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.pipeline import WORK, Pipeline

__all__ = ["PHASES", "run_phase", "run_pipeline"]

PHASES = ("profile", "data", "forest", "agent", "evaluate", "plots", "report")
_NAME_IN_FOLDER = {"evaluate": "simulate"}

Step = Callable[[str], None]


def run_pipeline(pipeline: Pipeline, folder: ResultsFolder, step: Step = lambda _: None) -> None:
    """Do every phase that is not done yet; once one is done anew, so are those that follow."""
    fresh = False
    for name in PHASES:
        if fresh or not folder.is_done(_NAME_IN_FOLDER.get(name, name)):
            run_phase(pipeline, folder, name, step)
            # The profile is for the record: measuring it again changes no result.
            fresh = fresh or name != "profile"
    folder.complete()


def run_phase(pipeline: Pipeline, folder: ResultsFolder, name: str, step: Step = lambda _: None) -> None:
    """Do one phase; what it reads must be there."""
    for earlier in _NEEDED[name]:
        if not folder.is_done(_NAME_IN_FOLDER.get(earlier, earlier)):
            raise PlanError(f"The phase {name} needs {earlier}, which is not done in {folder.path}.")
    _WORK[name](pipeline, folder, step)
    step(name)


def _plots(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    draw_plots(folder, engine=pipeline.engine, step=step)


def _report(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    write_report(folder)


_WORK: dict[str, Callable[[Pipeline, ResultsFolder, Step], None]] = {**WORK, "plots": _plots, "report": _report}
_NEEDED: dict[str, tuple[str, ...]] = {
    "profile": (),
    "data": (),
    "forest": ("data",),
    "agent": (),
    "evaluate": ("forest", "agent"),
    "plots": ("evaluate",),
    "report": ("evaluate", "plots"),
}
