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

__all__ = ["FolderFiles", "parquet_bytes", "write_whole"]


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
