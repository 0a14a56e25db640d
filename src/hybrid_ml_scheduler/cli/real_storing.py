"""A real run on its way into the history: directly into the database, or through a service that owns it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.errors import ConfigurationError, HmsError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.cli.program_following import FollowedExecutor
    from hybrid_ml_scheduler.execution.runs.real_runs import RealRun

__all__ = ["CHUNK", "RESULTS", "TASKS", "check_service", "check_store", "post", "send", "store", "store_program"]

# So many rows fit into a message of a service with its usual limits.
CHUNK = 500
TASKS, RESULTS = "measured_tasks", "measured_results"
_PATIENCE_S, _CHECK_PATIENCE_S = 60.0, 10.0


# A run as it goes into the history: what it is, then its tasks and results in pieces, each with its path.
Pieces = Iterable[tuple[str, dict[str, Any]]]


def check_store(url: str) -> None:
    """Refuse a database that a service writes to just now, before anything is measured for it."""

    async def own() -> None:
        from hybrid_ml_scheduler.storage import ownership

        async with ownership(url):
            pass

    asyncio.run(own())


def store(run: RealRun, url: str) -> list[int]:
    """Write every repeat as a run into a database that no service uses just now; returns their ids."""
    return asyncio.run(_stored([(run.document(repeat), _pieces(run, repeat)) for repeat in range(run.repeats)], url))


def store_program(executors: Sequence[FollowedExecutor], url: str) -> list[int]:
    """Write every executor of a program as a run into a database that no service uses just now; returns their ids."""
    return asyncio.run(_stored([(one.document(), one.pieces(0)) for one in executors], url))


async def _stored(found: Sequence[tuple[dict[str, Any], Pieces]], url: str) -> list[int]:
    from hybrid_ml_scheduler.service.measured_runs import MeasuredRuns
    from hybrid_ml_scheduler.service.wire.measured import MeasuredResults, MeasuredTasks, NewMeasuredRun
    from hybrid_ml_scheduler.storage import open_store, ownership

    ids = []
    async with ownership(url) as mark:
        database = await open_store(url, owner=mark)
        try:
            runs = MeasuredRuns(database)
            for document, pieces in found:
                ids.append(await runs.begin(NewMeasuredRun.model_validate(document)))
                for path, piece in pieces:
                    if path == TASKS:
                        await runs.add_tasks(ids[-1], MeasuredTasks.model_validate(piece))
                    else:
                        await runs.add_results(ids[-1], MeasuredResults.model_validate(piece))
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
        for path, document in _pieces(run, repeat):
            post(f"{base}/{run_id}/{path}", document, key)
        post(f"{base}/{run_id}/measured_end", run.last_words(), key)
        ids.append(run_id)
    return ids


def _pieces(run: RealRun, repeat: int) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((TASKS, document) for document in run.tasks.documents(CHUNK))
    yield from ((RESULTS, document) for document in run.result_documents(repeat, CHUNK))


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
