"""Recommendations: searched for beside the race, one at a time, kept in a folder, found again after a restart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.live.frames import moment
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.schedulers import available, find
from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.service.problems import Conflict, NotFound
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.wire.recommendations import (
    Recommendation,
    RecommendationDemand,
    RecommendationList,
    RecommendationRecord,
    RecommendationRemoved,
    SearchProgress,
)
from hybrid_ml_scheduler.studies.recommending.asked import Asked, question_from_values
from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES
from hybrid_ml_scheduler.workload import preset

__all__ = ["Recommendations"]

_log = get_logger("hms.service")

_SEARCHER = "hybrid_ml_scheduler.service.recommendations.searching"
_KEPT = 100
_LONGEST_LINE = 2**25
_INTERRUPTED = "The service ended before the search was done; ask again."


class Recommendations:
    """Asks a process of its own, so that the live race keeps its pace; cancelling ends the process."""

    def __init__(self, folder: Path, uploads: UploadFolder, *, is_followed: bool = False) -> None:
        self._folder = folder
        self._uploads = uploads
        self._is_followed = is_followed
        self._present: Recommendation | None = None
        self._search: asyncio.Task[None] | None = None

    def all(self) -> RecommendationList:
        """Return what is kept, newest first, and the policies that are considered unless others are chosen."""
        newest_first = sorted(self._numbers(), reverse=True)
        found = [self.get(number) for number in newest_first]
        return RecommendationList(recommendations=found, usual_policies=list(DEFAULT_POLICIES))

    def get(self, number: int) -> Recommendation:
        """Return one; one whose search ended with an earlier process says so."""
        if self._present is not None and self._present.recommendation_id == number:
            return self._present
        try:
            found = Recommendation.model_validate_json(self._file(number).read_text("utf-8"))
        except (OSError, ValidationError):
            raise NotFound(f"There is no recommendation {number}.") from None
        if found.state == "running":
            return found.model_copy(update={"state": "failed", "problem": _INTERRUPTED, "progress": None})
        return found

    def ask(self, demand: RecommendationDemand) -> Recommendation:
        """Begin a search; whatever cannot be asked is refused in one sentence before it begins."""
        self._refuse_if_followed()
        if self._search is not None and not self._search.done():
            raise Conflict("Another recommendation is being searched for; wait for it or cancel it.")
        order, workload = self._order(demand)
        numbers = self._numbers()
        self._present = Recommendation(
            recommendation_id=max(numbers, default=0) + 1,
            state="running",
            at=moment(time.time()),
            workload=workload,
            demand=demand,
            progress=SearchProgress(label="beginning", done=0, total=0),
            problem=None,
            record=None,
        )
        self._keep()
        for old in sorted(numbers, reverse=True)[_KEPT - 1 :]:
            self._file(old).unlink(missing_ok=True)
        self._search = asyncio.create_task(self._searched(order))
        return self._present

    async def cancel(self, number: int) -> Recommendation:
        """End a search; one that has ended stays as it is."""
        self._refuse_if_followed()
        found = self.get(number)
        if found.state != "running" or self._search is None:
            return found
        await self._end("cancelled", None)
        return self.get(number)

    async def remove(self, number: int) -> RecommendationRemoved:
        """Remove a recommendation; a search for it is ended first."""
        await self.cancel(number)
        if self._present is not None and self._present.recommendation_id == number:
            self._present = None
        self._file(number).unlink(missing_ok=True)
        return RecommendationRemoved(recommendation_id=number)

    async def close(self) -> None:
        """End the search that is there."""
        if self._search is not None and not self._search.done():
            await self._end("failed", _INTERRUPTED)

    async def _end(self, state: str, problem: str | None) -> None:
        if self._search is not None:
            self._search.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._search
        self._change(state=state, problem=problem, progress=None)
        self._keep()

    def _order(self, demand: RecommendationDemand) -> tuple[dict[str, Any], str]:
        """What the searching process is told, checked as far as that is quick; and the workload in words."""
        nodes = [node.model_dump(exclude_none=True) for node in demand.nodes]
        for name in demand.policies:
            find(name)
            if name not in available():
                raise PlanError(f"policies: {name} is no registered strategy.")
        values = {} if demand.arrival_rate is None else {"arrival_rate": demand.arrival_rate}
        if demand.upload is None:
            preset(demand.workload or "")
            source, words, reading = demand.workload or "", demand.workload or "", {}
        else:
            kept = self._uploads.get(demand.upload)
            if kept is None or kept.use != "trace":
                raise PlanError(f"There is no uploaded trace {demand.upload}.")
            source, words = str(kept.source.path(self._uploads.path.resolve())), kept.name
            reading = {"dialect": kept.dialect, "options": dict(kept.options)}
        workload: dict[str, Any] = {"source": source, "num_tasks": demand.num_tasks, "values": values, **reading}
        names = ("best", "budget", "current", "target_load", "reference_node", "knowledge", "seed", "seeds")
        asked: dict[str, Any] = {name: getattr(demand, name) for name in names}
        asked |= {"target": demand.asked_target, "policies": demand.policies or list(DEFAULT_POLICIES)}
        question_from_values(WorkloadChoice(**workload), nodes, Asked(**asked))
        return {"workload": workload, "nodes": nodes, "asked": asked}, words

    async def _searched(self, order: dict[str, Any]) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            _SEARCHER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
        )
        try:
            answer = await self._heard(process, order)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        folder = f"{Path(order['workload']['source']).parent}/"
        if "record" in answer:
            text = json.dumps(answer["record"]).replace(folder, "")
            self._change(state="done", record=RecommendationRecord.model_validate_json(text), progress=None)
        else:
            problem = answer.get("refusal", "The search ended before it was done; ask again.").replace(folder, "")
            self._change(state="failed", problem=problem, progress=None)
        self._keep()

    async def _heard(self, process: asyncio.subprocess.Process, order: dict[str, Any]) -> dict[str, Any]:
        """Follow how far it is, up to its last line."""
        if process.stdin is None or process.stdout is None:
            return {}
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
        said: dict[str, Any] = {}
        async for line in process.stdout:
            said = json.loads(line)
            if "done" in said:
                self._change(progress=SearchProgress(**said))
        await process.wait()
        return said

    def _change(self, **values: Any) -> None:
        if self._present is not None:
            self._present = self._present.model_copy(update=values)

    def _keep(self) -> None:
        if self._present is None:
            return
        file = self._file(self._present.recommendation_id)
        draft = file.with_suffix(".draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(self._present.model_dump_json(), "utf-8")
            os.replace(draft, file)
        except OSError as error:
            _log.error("a recommendation could not be kept", problem=str(error))
            raise HmsError(f"The recommendation cannot be kept: {error.strerror or error}.") from error

    def _numbers(self) -> list[int]:
        return [int(file.stem) for file in self._folder.glob("*.json") if file.stem.isdigit()]

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"

    def _refuse_if_followed(self) -> None:
        if self._is_followed:
            raise Conflict("This service follows a race that another one runs; ask that one.")
