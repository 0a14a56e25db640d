"""A real run on its way into the history: directly into the database, or through a service that owns it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.errors import ConfigurationError, HmsError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.execution.runs.real_runs import RealRun

__all__ = ["CHUNK", "post", "send", "store"]

# So many rows fit into a message of a service with its usual limits.
CHUNK = 500
_PATIENCE_S, _CHECK_PATIENCE_S = 60.0, 10.0


def store(run: RealRun, url: str) -> list[int]:
    """Write every repeat as a run into a database that no service uses just now; returns their ids."""
    return asyncio.run(_stored(run, url))


async def _stored(run: RealRun, url: str) -> list[int]:
    from hybrid_ml_scheduler.service.measured_runs import MeasuredRuns
    from hybrid_ml_scheduler.service.wire.measured import MeasuredResults, MeasuredTasks, NewMeasuredRun
    from hybrid_ml_scheduler.storage import open_store, ownership

    ids = []
    async with ownership(url) as mark:
        database = await open_store(url, owner=mark)
        try:
            runs = MeasuredRuns(database)
            for repeat in range(run.repeats):
                run_id = await runs.begin(NewMeasuredRun.model_validate(run.document(repeat)))
                for tasks in run.tasks.documents(CHUNK):
                    await runs.add_tasks(run_id, MeasuredTasks.model_validate(tasks))
                for results in run.result_documents(repeat, CHUNK):
                    await runs.add_results(run_id, MeasuredResults.model_validate(results))
                ids.append(run_id)
        finally:
            await database.close()
    return ids


def send(run: RealRun, service: str, key: str | None = None, begun: Sequence[int | None] = ()) -> list[int]:
    """Send every repeat as a run to a service; returns their ids.

    `begun` are the ids of those that it has taken in already: what it has of them is sent again and stored once.
    """
    base = service.rstrip("/") + "/api/runs"
    ids = []
    for repeat in range(run.repeats):
        run_id = begun[repeat] if repeat < len(begun) else None
        if run_id is None:
            run_id = int(post(f"{base}/measured", run.document(repeat), key)["run_id"])
        for path, documents in _pieces(run, repeat):
            for document in documents:
                post(f"{base}/{run_id}/{path}", document, key)
        post(f"{base}/{run_id}/measured_end", run.last_words(), key)
        ids.append(run_id)
    return ids


def _pieces(run: RealRun, repeat: int) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    yield "measured_tasks", run.tasks.documents(CHUNK)
    yield "measured_results", run.result_documents(repeat, CHUNK)


def check_service(service: str) -> None:
    """Refuse a service that does not answer, before anything is measured for it."""
    _answer(urllib.request.Request(service.rstrip("/") + "/api/status"), _CHECK_PATIENCE_S)


def post(url: str, content: dict[str, Any], key: str | None, patience_s: float = _PATIENCE_S) -> Any:
    """Send one message and return the answer; a refusal and a silence are told in one sentence."""
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"--service {url} must begin with http:// or https://.")
    headers = {"Content-Type": "application/json", **({"X-API-Key": key} if key else {})}
    return _answer(urllib.request.Request(url, json.dumps(content).encode(), headers), patience_s)


def _answer(request: urllib.request.Request, patience_s: float) -> Any:
    url = request.full_url
    try:
        with urllib.request.urlopen(request, timeout=patience_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            told = json.load(error)["detail"]
        except (ValueError, KeyError):
            told = error.reason
        raise HmsError(f"{url} refused the run: {told}") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise ConfigurationError(f"No service answers at {url}: {getattr(why, 'strerror', None) or why}.") from error
