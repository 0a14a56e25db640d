"""Running the application: one process, one port, a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator, Sequence

import uvicorn
from fastapi import FastAPI

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.api.tidying import TIDY_EVERY_S, Tidying, tidy
from hybrid_ml_scheduler.core.errors import ConfigurationError, HmsError
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.schedulers import find
from hybrid_ml_scheduler.service.logs import configure_logs
from hybrid_ml_scheduler.settings import Settings

__all__ = ["run_server", "url_of"]

_GRACE_S = 5


class _Server(uvicorn.Server):
    """Says where it is once it answers, and keeps the reason when it cannot start."""

    def __init__(self, config: uvicorn.Config, settings: Settings, app: FastAPI) -> None:
        super().__init__(config)
        self._settings = settings
        self._app = app

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take Ctrl+C and a polite kill as the wish to stop, which is no failure."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            tidy()
            address = sockets[0].getsockname() if sockets else (self.config.host, self.config.port)
            _say(self._settings, url_of(address[0], address[1]))
            status = self._app.state.services.race.status()
            if not self._settings.follow:
                _say_if_lost(status.problem)
                _say_if_another_race(self._settings, status.schedulers)


def run_server(settings: Settings, listener: socket.socket, *, new_run: bool = False, plan: Plan | None = None) -> None:
    """Serve until told to stop; a start that fails ends with the sentence that says why."""
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    configure_logs(settings.log_level, settings.log_file)
    app = create_app(settings, new_run=new_run, plan=plan)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=settings.max_message_bytes,
        ws_per_message_deflate=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_graceful_shutdown=_GRACE_S,
        callback_notify=Tidying(lambda: app.state.services.race.status().tasks_processed),
        timeout_notify=TIDY_EVERY_S,
    )
    server = _Server(config, settings, app)

    async def main() -> None:
        # The application is opened here rather than by uvicorn, which would print a traceback instead of a sentence.
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[listener])

    try:
        _run(main())
    except HmsError:
        raise
    except OSError as error:
        raise ConfigurationError(f"The service cannot run: {error}.") from error


def url_of(host: str, port: int) -> str:
    """Return where the service is, as a browser takes it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _run(main: object) -> None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        asyncio.run(main)  # type: ignore[arg-type]
    else:
        uvloop.run(main)  # type: ignore[arg-type]


def _say(settings: Settings, address: str) -> None:
    cache = "in this process" if settings.cache_url is None else "Redis"
    lines = (
        f"Hybrid ML Scheduler is at {address}",
        f"  database: {settings.database_words}",
        f"  cache:    {cache}",
        f"  log:      {settings.log_file}",
        *(["  race:     another service's, through Redis; steer it there"] if settings.follow else []),
        "  stop it with Ctrl+C",
    )
    print("\n".join(lines), file=sys.stdout, flush=True)


def _say_if_lost(problem: str | None) -> None:
    """A stored run that cannot be continued stays as it is; whoever started the service must know the way out."""
    if problem is not None:
        print(
            f"  note:     {problem} What is stored stays; begin a new run in the dashboard, with new_run in "
            "POST /api/simulation/start, or with hms serve --new-run.",
            flush=True,
        )


def _say_if_another_race(settings: Settings, racing: Sequence[str]) -> None:
    """A stored run goes on with its own strategies; whoever asked for others must be told."""
    wanted = {find(spec).name for spec in settings.named_schedulers}
    if racing and wanted and wanted != set(racing):
        print(
            f"  note:     the stored run goes on with its own strategies ({', '.join(racing)}); those you named race "
            "in a new run (the circular arrow in the dashboard, or new_run in POST /api/simulation/start).",
            flush=True,
        )
