"""`hms serve`: the live arena with its API and dashboard, in one process on one port."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.settings import Settings

__all__ = ["serve"]

_SWITCH_EVERY_S = 0.0005
# Names that glibc gives to the settings of its allocator (malloc.h).
_MALLOC_MMAP_THRESHOLD, _MALLOC_ARENA_MAX = -3, -8
_LARGE_BLOCK_BYTES = 2**18


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (HMS_HOST, 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on (HMS_PORT, 8000).")] = None,
    database: Annotated[str | None, typer.Option(help="Database URL (DATABASE_URL; a SQLite file in data/).")] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(help="A strategy of a new run: a name, file.py:Class or tuned.json. Repeat for several."),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(min=0, max=1e6, help="Tasks per second (HMS_SPEED, 10); 0 = as fast as possible.")
    ] = None,
    start: Annotated[
        bool | None,
        typer.Option(
            "--start/--no-start",
            help="Begin a run at once where there is none (HMS_AUTOSTART, yes), or wait until somebody starts it.",
            show_default=False,
        ),
    ] = None,
    new_run: Annotated[
        bool,
        typer.Option(
            "--new-run",
            help="Begin a new run, whatever the stored one was; with --no-start it waits. Task ids go on counting.",
        ),
    ] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Show the race that another service runs on the same database and Redis (HMS_FOLLOW); steer it there.",
        ),
    ] = False,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A plan file (TOML, YAML) of the run: workload or trace, node, strategies. The stored run goes on "
            "where it is of the same plan; else a new one begins."
        ),
    ] = None,
    env_file: Annotated[Path | None, typer.Option(help="File with environment variables (.env if there).")] = None,
) -> None:
    """Run the live arena with its API and dashboard.

    Where it runs comes from the environment or `.env` (docs/configuration.md); the options win over both.
    """
    from hybrid_ml_scheduler.cli.compiling import take_one_thread

    take_one_thread()
    from hybrid_ml_scheduler.core.errors import ConfigurationError
    from hybrid_ml_scheduler.settings import load_settings

    given: dict[str, object] = {
        "host": host,
        "port": port,
        "database_url": database,
        "speed": speed,
        "autostart": start,
        "follow": follow or None,
    }
    given["schedulers"] = tuple(scheduler) if scheduler else None
    if env_file is not None and not env_file.is_file():
        raise ConfigurationError(f"There is no file {env_file} with environment variables.")
    settings = load_settings(
        env_file or Path(".env"), **{name: value for name, value in given.items() if value is not None}
    )
    if settings.follow and (start is not None or new_run or scheduler or speed is not None or plan is not None):
        raise ConfigurationError(
            "One that follows runs no race; give --start, --new-run, --plan, --scheduler and --speed "
            "to the one that does."
        )
    _check(settings)
    planned = _planned(plan)
    from hybrid_ml_scheduler.api.app import usual_plan
    from hybrid_ml_scheduler.api.server import run_server
    from hybrid_ml_scheduler.cli.compiling import compile_service

    listener = _listener(settings.host, settings.port)
    if not settings.follow:
        compile_service()
    sys.setswitchinterval(_SWITCH_EVERY_S)  # the race computes without pause; requests must not wait for it
    _keep_memory_flat()
    if not settings.follow:
        _warn_overload(planned or usual_plan(settings))
    run_server(settings, listener, new_run=new_run, plan=planned)


def _planned(path: Path | None) -> Plan | None:
    if path is None:
        return None
    from hybrid_ml_scheduler.plans.plan import load_plan

    return load_plan(path)


def _warn_overload(plan: Plan) -> None:
    """Say whether a new run of this plan would be overloaded."""
    from hybrid_ml_scheduler.cli.output.formats import warn_overload
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.plans.overload import overload_words
    from hybrid_ml_scheduler.studies.trials import known_tasks

    with contextlib.suppress(HmsError):  # what cannot be raced is refused when the run begins
        known = known_tasks(plan, plan.seed)
        warn_overload(overload_words(known.batch, known.node, known.true), "a new run: ")


def _keep_memory_flat() -> None:
    """Have large blocks given back when they are freed, and few pools for the threads (where the C library is glibc).

    Checkpoints and forests come and go in threads of their own; left alone, glibc keeps ever more of their space.
    """
    with contextlib.suppress(OSError, AttributeError):
        adjust = ctypes.CDLL(None).mallopt
        adjust(_MALLOC_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)
        adjust(_MALLOC_ARENA_MAX, 2)


def _check(settings: Settings) -> None:
    """Refuse what could not be served before a folder is made for the logs."""
    from hybrid_ml_scheduler.schedulers import find
    from hybrid_ml_scheduler.storage.connect.address import parse_address
    from hybrid_ml_scheduler.workload import preset

    for spec in settings.schedulers:
        find(spec)
    preset(settings.workload)
    parse_address(settings.database.get_secret_value())


def _listener(host: str, port: int) -> socket.socket:
    """Take the port before anything else is opened, so that a second service is refused at once."""
    from hybrid_ml_scheduler.core.errors import ConfigurationError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        hint = "; is the service running already? Another port: --port 9000" if error.errno == errno.EADDRINUSE else ""
        place = f"[{host}]" if ":" in host else host
        raise ConfigurationError(f"{place}:{port} cannot be listened on: {reason}{hint}.") from error
    return listener
