"""`hms db`: bring the database up to date, look whether it is sound, and take the history out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hybrid_ml_scheduler.cli.output.formats import Format, check_place, row_count
from hybrid_ml_scheduler.cli.output.show import print_json

if TYPE_CHECKING:
    from hybrid_ml_scheduler.storage import ExportTable, Integrity, SchemaState

__all__ = ["app"]

app = typer.Typer(
    help="Upgrade, check and export the database.",
    epilog="Start with: `hms db upgrade`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

_T = TypeVar("_T")
_BEHIND_OR_BROKEN = 1
_UPGRADE = "'hms db upgrade'"
_LONG_S = 3600.0


class FileFormat(str, Enum):
    """How the history is written."""

    csv = "csv"
    parquet = "parquet"


Database = Annotated[
    str | None,
    typer.Option("--database", help="Database URL; by default DATABASE_URL or what `.env` says, else the SQLite file."),
]
Output = Annotated[Format, typer.Option("--format", help="Sentences for people or JSON for programs.")]
Patience = Annotated[
    float, typer.Option("--timeout", min=0, max=3600, help="Seconds to try when the database does not answer.")
]


@app.command(epilog="Example: `hms db upgrade --database sqlite:///history.db`")
def upgrade(database: Database = None, timeout: Patience = 5.0, format: Output = Format.TABLE) -> None:
    """Bring the database to the schema of this version; creates the SQLite file and its folder.

    It may be run again at any time.
    """
    from hybrid_ml_scheduler import storage

    _say(asyncio.run(storage.upgrade(_address(database), timeout_s=timeout)), None, format, database)


@app.command(epilog="Example: `hms db check --full` (exit code 1: behind, or something is wrong)")
def check(
    database: Database = None,
    full: Annotated[bool, typer.Option("--full", help="Read every row: gaps, duplicates, orphans.")] = False,
    timeout: Patience = 5.0,
    format: Output = Format.TABLE,
) -> None:
    """Say whether the database is up to date and, with --full, whether its history is whole."""
    state, found = _hinting(database, _examine(_address(database), full, timeout))
    _say(state, found, format, database)
    if state.behind or not state.known or (found is not None and not found.whole):
        raise typer.Exit(_BEHIND_OR_BROKEN)


@app.command(epilog="Example: `hms db export history.parquet`")
def export(
    path: Annotated[Path, typer.Argument(help="The file to write; .csv or .parquet says the format.")],
    database: Database = None,
    table: Annotated[str, typer.Option(help="history (results with their tasks) or a table's name.")] = "history",
    file_format: Annotated[FileFormat | None, typer.Option("--as", help="The format, where the name hides it.")] = None,
    format: Output = Format.TABLE,
) -> None:
    """Write the history to a CSV or Parquet file, which appears only when it is complete."""
    _check_export(path, table, file_format)
    rows = _hinting(database, _export(_address(database), path, table, file_format))
    if format is Format.JSON:
        print_json({"path": str(path), "table": table, "rows": rows})
    else:
        from hybrid_ml_scheduler.core.text import amount

        typer.echo(f"{amount(rows, 'row')} of {table} written to {path}.")


def _check_export(path: Path, table: str, file_format: FileFormat | None) -> None:
    """Refuse what could not be written in the end, before anything is read."""
    from hybrid_ml_scheduler.core.errors import StorageError
    from hybrid_ml_scheduler.core.text import nearest_hint
    from hybrid_ml_scheduler.storage import EXPORT_TABLES

    if table not in EXPORT_TABLES:
        raise StorageError(f"--table {table!r} does not exist{nearest_hint(table, EXPORT_TABLES)}")
    check_place("PATH", path)
    if file_format is None and path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise StorageError(f"{path} ends in neither .csv nor .parquet; say the format: --as csv or --as parquet.")


def _hinting(database: str | None, work: Coroutine[Any, Any, _T]) -> _T:
    """Run the work; a hint to another command keeps the database that was named."""
    from hybrid_ml_scheduler.core.errors import StorageError

    try:
        return asyncio.run(work)
    except StorageError as error:
        raise StorageError(_hint(str(error), database)) from error


def _hint(sentence: str, database: str | None) -> str:
    return sentence if database is None else sentence.replace(_UPGRADE, f"{_UPGRADE} with the same --database")


def _address(database: str | None) -> str:
    """Return the database that is meant: the option wins over the environment."""
    if database is not None:
        _check_url(database)
        return database
    from hybrid_ml_scheduler.settings import load_settings

    return load_settings().database.get_secret_value()


def _check_url(url: str) -> None:
    """Refuse a URL that cannot be one, by the flag's name: the URL itself may hold a password."""
    from hybrid_ml_scheduler.core.errors import ConfigurationError
    from hybrid_ml_scheduler.storage.connect.address import parse_address

    try:
        parse_address(url)
    except ConfigurationError as error:
        raise ConfigurationError(f"--database: {error}") from None


async def _examine(url: str, full: bool, timeout_s: float) -> tuple[SchemaState, Integrity | None]:
    from hybrid_ml_scheduler import storage

    state = await storage.check(url, timeout_s=timeout_s)
    if not full or state.behind or not state.known:
        return state, None
    store = await storage.open_store(url, command_timeout_s=_LONG_S)
    try:
        return state, await storage.integrity(store)
    finally:
        await store.close()


async def _export(url: str, path: Path, table: str, file_format: FileFormat | None) -> int:
    from hybrid_ml_scheduler import storage

    store = await storage.open_store(url)
    wanted: ExportTable = table  # type: ignore[assignment]  # an unknown name is refused by the export itself
    chosen: Any = None if file_format is None else file_format.value
    try:
        with row_count() as advance:
            return await storage.export_file(store, path, format=chosen, table=wanted, progress=advance)
    finally:
        await store.close()


def _say(state: SchemaState, found: Integrity | None, format: Format, database: str | None) -> None:
    sentence = _hint(state.sentence, database)
    if format is Format.JSON:
        answer: dict[str, Any] = {**asdict(state), "behind": state.behind, "sentence": sentence}
        print_json(answer | ({} if found is None else {"history": {**asdict(found), "whole": found.whole}}))
        return
    typer.echo(sentence)
    if found is not None:
        verdict = "the history is whole" if found.whole else "the history is broken"
        from hybrid_ml_scheduler.core.text import amount

        typer.echo(f"{amount(found.tasks, 'task')}, {amount(found.results, 'result')}: {verdict}.")
        if found.undecided:
            typer.echo(f"  not decided: {found.undecided:,} (they arrive after their run's clock or wait for a parent)")
        for name, culprits in asdict(found).items():
            if isinstance(culprits, (list, tuple)) and culprits:
                typer.echo(f"  {name.replace('_', ' ')}: {', '.join(map(str, culprits))}")
