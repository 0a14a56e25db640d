"""Uploads: taken in, listed and removed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.live.frames import moment
from hybrid_ml_scheduler.plans.upload_source import upload_source
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.service.uploads.checking import PACKED, check_upload
from hybrid_ml_scheduler.service.uploads.folder import KeptUpload, UploadFolder
from hybrid_ml_scheduler.service.wire.uploads import (
    HardwareFacts,
    TraceContent,
    UploadCard,
    UploadList,
    UploadRemoved,
    UploadUse,
)
from hybrid_ml_scheduler.storage import Store, stored_runs
from hybrid_ml_scheduler.workload.traces.gavel import TABLE

__all__ = ["NewUpload", "Uploads"]

_MEGABYTE = 10**6
_RUNS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUpload:
    """A file as it was sent, and how it is to be read."""

    name: str
    data: bytes
    use: UploadUse = "trace"
    dialect: str | None = None
    columns: Mapping[str, str]
    options: Mapping[str, Any]
    table: str | None = None


class Uploads:
    """Checks a file completely before it is kept, one file at a time, and keeps no more than there is room for."""

    def __init__(
        self, folder: UploadFolder, store: Store, *, most_bytes: int, most_upload_bytes: int, is_followed: bool = False
    ) -> None:
        self.folder = folder
        self._store = store
        self._most_bytes = most_bytes
        self._most_upload_bytes = most_upload_bytes
        self._is_followed = is_followed
        self._one_at_a_time = asyncio.Lock()

    async def listing(self) -> UploadList:
        """Return what is kept, newest first."""
        kept, runs = await asyncio.to_thread(self.folder.all), await self._runs()
        return UploadList(
            uploads=[_card(one, runs.get(one.upload_id, [])) for one in kept],
            total_bytes=sum(one.bytes for one in kept),
            most_bytes=self._most_bytes,
            most_upload_bytes=self._most_upload_bytes,
        )

    async def add(self, new: NewUpload) -> UploadCard:
        """Read a file completely and keep it; the same file sent again is kept once."""
        self._refuse_if_followed()
        if not new.data:
            raise PlanError(f"{new.name}: the file is empty.")
        if new.columns and (new.dialect not in (None, "csv") or new.use != "trace"):
            raise PlanError("columns: only those of a CSV can be named.")
        options = {**new.options, **({"map": dict(new.columns)} if new.columns else {})}
        reading = {"use": new.use, "dialect": new.dialect, "options": options}
        async with self._one_at_a_time:
            self._refuse_if_full(new, await asyncio.to_thread(self.folder.all))
            beside = await asyncio.to_thread(self._beside, new)
            upload_id, draft = await asyncio.to_thread(self.folder.place, new.data, new.name, reading, beside)
            try:
                facts = await check_upload(draft, new.data, {"name": new.name, **reading})
                kept = KeptUpload(
                    upload_id=upload_id,
                    name=new.name,
                    use=new.use,
                    dialect=new.dialect,
                    options=options,
                    bytes=len(new.data) + sum(map(len, beside.values())),
                    at=time.time(),
                    facts=facts,
                )
                await asyncio.to_thread(self.folder.keep, draft, kept)
            finally:
                self.folder.drop(draft)
        return _card(kept, (await self._runs()).get(upload_id, []))

    def _beside(self, new: NewUpload) -> dict[str, bytes]:
        """The table of throughputs that a Gavel stream is read with, under the name that its reader looks for."""
        if new.table is None:
            return {}
        table = self.folder.get(new.table)
        if table is None or table.use != "throughputs" or new.use != "trace":
            raise PlanError(f"There is no uploaded table of throughputs {new.table} for this file.")
        content = table.source.path(self.folder.path).read_bytes()
        return {f"{TABLE}.gz" if content.startswith(PACKED) else TABLE: content}

    async def remove(self, upload_id: str) -> UploadRemoved:
        """Remove a file that no stored run needs."""
        self._refuse_if_followed()
        kept = self.folder.get(upload_id)
        if kept is None:
            raise NotFound(f"There is no upload {upload_id}.")
        runs = (await self._runs()).get(upload_id, [])
        if runs:
            names = ", ".join(map(str, runs[:5])) + (", ..." if len(runs) > 5 else "")
            told = f"run {names}; remove it" if len(runs) == 1 else f"the runs {names}; remove them"
            raise Conflict(f"{kept.name} is needed by {told} first.")
        await asyncio.to_thread(self.folder.remove, upload_id)
        return UploadRemoved(upload_id=upload_id)

    def _refuse_if_full(self, new: NewUpload, kept: list[KeptUpload]) -> None:
        used = sum(one.bytes for one in kept)
        if used + len(new.data) > self._most_bytes:
            raise Conflict(
                f"{new.name} has {len(new.data) / _MEGABYTE:.1f} MB, and of {self._most_bytes / _MEGABYTE:.0f} MB for "
                f"uploads {used / _MEGABYTE:.1f} are used; remove some first."
            )

    async def _runs(self) -> dict[str, list[int]]:
        """The stored runs that need each upload."""
        needed: dict[str, list[int]] = {}
        before: int | None = None
        while True:
            found, _ = await stored_runs(self._store, limit=_RUNS_AT_ONCE, before=before)
            for run in found:
                for digest in _needed(run.plan):
                    needed.setdefault(digest, []).append(run.run_id)
            if len(found) < _RUNS_AT_ONCE:
                return needed
            before = found[-1].run_id

    def _refuse_if_followed(self) -> None:
        if self._is_followed:
            raise Conflict("This service follows a race that another one runs; ask that one.")


def _needed(plan: Mapping[str, Any]) -> list[str]:
    """The uploads that a stored plan names: its trace, and its hardware profile by where that lies."""
    trace, hardware = plan.get("workload", {}).get("file"), plan.get("simulation", {}).get("hardware")
    found = upload_source(trace) if isinstance(trace, str) else None
    digests = [] if found is None else [found.digest]
    return digests + ([Path(hardware).parent.name] if isinstance(hardware, str) else [])


def _card(kept: KeptUpload, runs: list[int]) -> UploadCard:
    uses: dict[str, UploadUse] = {"trace": "trace", "throughputs": "throughputs"}
    is_trace = kept.use == "trace"
    return UploadCard(
        upload_id=kept.upload_id,
        name=kept.name,
        use=uses.get(kept.use, "hardware"),
        dialect=kept.dialect,
        columns=dict(kept.options.get("map", {})),
        bytes=kept.bytes,
        at=moment(kept.at),
        trace=TraceContent.model_validate(kept.facts) if is_trace else None,
        hardware=HardwareFacts(devices=list(kept.facts["devices"])) if kept.use == "hardware" else None,
        runs=runs,
    )
