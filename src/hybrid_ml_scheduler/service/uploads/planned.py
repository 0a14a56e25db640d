"""A plan file that names a trace: the trace is taken in like an upload, so that a run finds it again by its content."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import bounded_bytes
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.uploads.folder import KeptUpload, UploadFolder
from hybrid_ml_scheduler.service.uploads.reading import read
from hybrid_ml_scheduler.workload.files import MOST_BYTES
from hybrid_ml_scheduler.workload.traces.gavel import table_beside

__all__ = ["kept_plan"]


def kept_plan(plan: Plan, uploads: UploadFolder) -> Plan:
    """The plan with its trace among the uploads and its profile named from wherever the service is started."""
    if plan.hardware is not None:
        plan = replace(plan, hardware=str(Path(plan.hardware).resolve()))
    if plan.workload.is_preset:
        return plan
    choice, path = plan.workload, Path(plan.workload.source)
    try:
        data = bounded_bytes(path, MOST_BYTES)
    except OSError as error:
        raise PlanError(f"The trace {path} of the plan cannot be read: {error.strerror or error}.") from None
    reading = {"use": "trace", "dialect": choice.dialect, "options": dict(choice.options)}
    table = table_beside(path)  # what a Gavel stream is read with
    beside = {} if table is None else {table.name: bounded_bytes(table, MOST_BYTES)}
    upload_id, draft = uploads.place(data, path.name, reading, beside)
    try:
        facts = read({"name": path.name, **reading}, draft)
        kept = KeptUpload(
            upload_id=upload_id,
            name=path.name,
            use="trace",
            dialect=choice.dialect,
            options=dict(choice.options),
            bytes=len(data),
            at=time.time(),
            facts=facts,
        )
        uploads.keep(draft, kept)
    finally:
        uploads.drop(draft)
    return replace(plan, workload=replace(choice, source=str(kept.source)))
