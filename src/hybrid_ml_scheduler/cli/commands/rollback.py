"""`hms rollback`: let a running service's strategy decide with its earlier model again."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.cli.output.show import print_json

__all__ = ["rollback"]

_ANSWERED_WITHIN_S = 30.0


def rollback(
    scheduler: Annotated[str, typer.Argument(help="The strategy whose earlier model is called back.")],
    url: Annotated[str, typer.Option("--url", help="Where the service runs.")] = "http://127.0.0.1:8000",
    format: Annotated[Format, typer.Option("--format", help="A sentence or JSON.")] = Format.TABLE,
) -> None:
    """Let the model decide again that decided before the present one, in the race of a running service.

    Models are kept for strategies with a guard (`hybrid_ml`, and `hybrid_ml_share` with `guard = true`), from the
    second one on that it let in.
    A service in production wants its key: set API_KEY as the service has it.
    """
    found = _posted(f"{url.rstrip('/')}/api/models/{scheduler}/rollback")
    if format is Format.JSON:
        print_json(found)
        return
    typer.echo(f"{found['scheduler']} decides with its earlier model from task {found['task_id']} on.")


def _posted(address: str) -> dict[str, Any]:
    """Ask the service; whatever goes wrong is a sentence."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.settings import Settings

    if not address.startswith(("http://", "https://")):
        raise HmsError(f"--url must begin with http:// or https://, not {address.partition('/api/')[0]!r}.")
    key = Settings().api_key
    headers = {} if key is None else {"X-API-Key": key.get_secret_value()}
    try:
        with urlopen(Request(address, method="POST", headers=headers), timeout=_ANSWERED_WITHIN_S) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as refusal:
        with refusal:  # it is an answer, too, and keeps its connection open
            raise HmsError(_sentence(refusal.read(), refusal.code)) from refusal
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        raise HmsError(f"No service answers at {address}: {reason}.") from problem


def _sentence(body: bytes, code: int) -> str:
    """The sentence of a problem, or what can be said of an answer that has none."""
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return f"The service answered with {code} and no reason."
    return str(detail)
