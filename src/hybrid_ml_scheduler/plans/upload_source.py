"""The name of an uploaded file in a plan: found by the digest of its content, wherever the folder of uploads lies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.plan import Plan

__all__ = ["UploadSource", "found_plan", "source_name", "upload_source"]

_PREFIX = "upload:"


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadSource:
    """An upload as a plan names it, such as `upload:3f…/jobs.csv`."""

    digest: str
    name: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.digest}/{self.name}"

    def path(self, folder: Path) -> Path:
        """Where its content lies."""
        return folder / self.digest / self.name


def upload_source(source: str) -> UploadSource | None:
    """The upload that a plan's workload names; None where it names a preset or a file."""
    if not source.startswith(_PREFIX):
        return None
    digest, _, name = source.removeprefix(_PREFIX).partition("/")
    return UploadSource(digest=digest, name=name)


def source_name(source: str) -> str:
    """What people call a workload: the preset, or the name of the file."""
    found = upload_source(source)
    return source if found is None else found.name


def found_plan(plan: Plan, folder: Path) -> Plan:
    """The plan with its upload named as a file; an upload that is not there is refused in one sentence."""
    found = upload_source(plan.workload.source)
    if found is None:
        return plan
    path = found.path(folder)
    if not path.is_file():
        raise PlanError(f"The uploaded trace {found.name} ({found.digest[:12]}) is not there any more.")
    return replace(plan, workload=replace(plan.workload, source=str(path)))
