"""The files of a results folder: JSON and tables, each written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.errors import HmsError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FolderFiles", "RunLog", "parquet_bytes", "write_whole"]


class FolderFiles:
    """A folder, and the digests of the files that were written into it of late."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: dict[str, str] = {}

    def write_bytes(self, name: str, data: bytes) -> Path:
        """Write one file, whole."""
        self._written[name] = hashlib.sha256(data).hexdigest()
        return write_whole(self.path / name, data)

    def adopt(self, name: str) -> None:
        """Count a file that somebody else wrote whole, such as a model, among those of the phase."""
        self._written[name] = hashlib.sha256((self.path / name).read_bytes()).hexdigest()

    def write_json(self, name: str, value: object) -> Path:
        """Write one JSON file with sorted keys."""
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
        return self.write_bytes(name, (text + "\n").encode("utf-8"))

    def read_json(self, name: str) -> Any:
        """Read one JSON file of the folder."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise HmsError(f"{self.path}: {name} is missing; run the command that made the folder again.") from None
        except (OSError, ValueError) as error:
            raise HmsError(f"{self.path / name} cannot be read ({error}).") from error

    def write_csv(self, name: str, frame: pd.DataFrame) -> None:
        """Write a table as CSV; the same table gives the same bytes."""
        self.write_bytes(name, frame.to_csv(index=False, lineterminator="\n").encode("utf-8"))

    def write_table(self, name: str, frame: pd.DataFrame, *, csv: bool = True) -> None:
        """Write a table as Parquet, and as CSV unless it is long."""
        if csv:
            self.write_csv(f"tables/{name}.csv", frame)
        self.write_bytes(f"tables/{name}.parquet", parquet_bytes(frame))

    def read_table(self, name: str) -> pd.DataFrame:
        """Read a table of the folder."""
        import pandas as pd

        path = self.path / "tables" / f"{name}.parquet"
        if not path.is_file():
            raise HmsError(f"{self.path}: tables/{name}.parquet is missing; the simulation has not ended yet.")
        return pd.read_parquet(path)

    def tables(self) -> list[str]:
        """The names of the tables that are there."""
        return sorted(path.stem for path in (self.path / "tables").glob("*.parquet"))


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file so that its name only ever stands for the whole of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise HmsError(f"{path} cannot be written ({error.strerror}).") from error
    finally:
        if part.exists():
            part.unlink()
    return path


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A table as Parquet; the same table gives the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


class RunLog:
    """Values by the names of their runs, each on a line of a file as soon as it is known; without a file in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._values: dict[str, float] = {}
        if path is not None and path.is_file():
            self._values = dict(_read(path))

    def value_of(self, key: str) -> float | None:
        """The value of a run, if it was made."""
        return self._values.get(key)

    def keep(self, key: str, value: float) -> None:
        """Remember a run; the line is on the disk before the next one begins."""
        self._values[key] = value
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, value]) + "\n")


def _read(path: Path) -> list[tuple[str, float]]:
    """The whole lines; one that was cut off by an interrupt is ended, so that the next does not join it."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
    return [pair for line in text.splitlines() if (pair := _pair(line)) is not None]


def _pair(line: str) -> tuple[str, float] | None:
    try:
        key, value = json.loads(line)
        return str(key), float(value)
    except (ValueError, TypeError):
        return None
