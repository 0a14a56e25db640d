"""A table of text with line numbers, and columns of checked numbers taken from it."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.core.validation import LEAST_AMOUNT, MOST_AMOUNT

__all__ = ["Table", "Written", "csv_table", "delimiter_of", "make_table"]

_STAMP = re.compile(r"(?:19|20)\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?", re.ASCII)
_LARGEST_ID = 2**62
_LONGEST_HEADER = 10_000


@dataclass(frozen=True, slots=True)
class Written:
    """A mapped column as the file has it: its name there, its cells, and their lines."""

    name: str
    cells: Sequence[str]
    lines: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of cells, with the line of the file on which each row stands.

    Where semicolons part the columns, a comma in a number is taken as its decimal point. `written` holds the columns
    that the file has under other names: errors quote those.
    """

    path: Path
    columns: dict[str, list[str]]
    lines: Sequence[int]
    decimal_comma: bool = False
    written: Mapping[str, Written] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    def refuse(self, row: int, reason: str) -> NoReturn:
        """Refuse the file because of one row."""
        raise WorkloadError(f"{self.path}, line {self.lines[row]}: {reason}.")

    def name_of(self, name: str) -> str:
        """The name of a column in the file; quoted where it is another one than ours."""
        return repr(self.written[name].name) if name in self.written else name

    def cell_words(self, name: str, row: int) -> str:
        """A cell with the name of its column, both as they stand in the file."""
        source = self.written.get(name)
        cell = self.columns[name][row]
        if source is not None:
            cell = source.cells[bisect_left(source.lines, self.lines[row])]
        return f"{self.name_of(name)} is {cell!r}"

    def rows(self, kept: Sequence[int]) -> Table:
        """The table with these rows only, in the order of the file."""
        columns = {name: [cells[row] for row in kept] for name, cells in self.columns.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in kept])

    def refuse_first(self, wrong: npt.NDArray[np.bool_], name: str, demand: str) -> None:
        """Refuse the file if any row is marked wrong, quoting the first one's cell."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = int(rows[0])
            self.refuse(row, f"{self.cell_words(name, row)}, which is not {demand}")

    def numbers(
        self,
        name: str,
        *,
        least: float | None = None,
        above: float | None = None,
        most: float | None = None,
        missing: float | None = None,
    ) -> FloatColumn:
        """Return a column of finite numbers; an empty cell counts as `missing` where that is given."""
        demand = "a finite number" + _demand(least, above, most)
        cells = self.columns[name]
        empty = np.fromiter((not cell for cell in cells), dtype=np.bool_, count=len(cells))
        if missing is not None and empty.any():
            cells = [cell or "0" for cell in cells]
        values = np.array(self._parsed(name, cells, float, demand), dtype=np.float64)
        wrong = ~np.isfinite(values)
        if least is not None:
            wrong |= values < least
        if above is not None:
            wrong |= values <= above
        if most is not None:
            wrong |= values > most
        if missing is not None:
            wrong &= ~empty
            values[empty] = missing
        self.refuse_first(wrong, name, demand)
        self.refuse_first(np.abs(values) > MOST_AMOUNT, name, f"at most {MOST_AMOUNT:g}")
        if above == 0.0:
            self.refuse_first(values < LEAST_AMOUNT, name, f"at least {LEAST_AMOUNT:g}")
        return values

    def integers(self, name: str, *, least: int = 0, missing: int | None = None) -> IntColumn:
        """Return a column of whole numbers that are at least `least`; an empty cell counts as `missing`."""
        demand = f"a whole number of at least {least}"
        cells = self.columns[name] if missing is None else [cell or str(missing) for cell in self.columns[name]]
        values = self._parsed(name, cells, int, demand)
        for row, value in enumerate(values):
            if not least <= value <= _LARGEST_ID:
                self.refuse(row, f"{self.cell_words(name, row)}, which is not {demand}")
        return np.array(values, dtype=np.int64)

    def seconds(self, name: str) -> FloatColumn:
        """Return a column of date-times as seconds since the earliest one."""
        cells = self.columns[name]
        stamps = _stamps(cells)
        if stamps is None:
            row = next(row for row, cell in enumerate(cells) if _stamps([cell]) is None)
            self.refuse(row, f"{self.cell_words(name, row)}, which is not a date-time like 2017-10-09 07:01:55")
        since: FloatColumn = (stamps - stamps.min()).astype(np.int64) / 1e9
        return since

    def unique(self, name: str, values: Sequence[object] | IntColumn) -> None:
        """Refuse the file if a value of an identifying column occurs twice."""
        seen: dict[object, int] = {}
        for row, value in enumerate(values):
            if value in seen:
                name = self.name_of(name)
                self.refuse(row, f"{name} {value} occurs a second time (first on line {self.lines[seen[value]]})")
            seen[value] = row

    def _parsed(
        self, name: str, cells: Sequence[str], parse: Callable[[str], float], demand: str
    ) -> list[float] | list[int]:
        try:
            values = list(map(parse, cells))
        except ValueError:
            values = []
        if len(values) < len(cells) or any("_" in cell for cell in cells):
            row = next(row for row, cell in enumerate(cells) if not _parses(cell, parse))
            self.refuse(row, f"{self.cell_words(name, row)}, which is not {demand}")
        return values


def _parses(cell: str, parse: Callable[[str], float]) -> bool:
    try:
        parse(cell)
    except ValueError:
        return False
    return "_" not in cell


def _stamps(cells: Sequence[str]) -> npt.NDArray[np.datetime64] | None:
    """Return the date-times, or None if a cell is not one (numpy alone would accept words like `now`)."""
    if not all(map(_STAMP.fullmatch, cells)):
        return None
    try:
        return np.array([cell.replace(" ", "T") for cell in cells], dtype="datetime64[ns]")
    except ValueError:
        return None


def _demand(least: float | None, above: float | None, most: float | None) -> str:
    if above is not None:
        return f" above {above:g}"
    if least is not None and most is not None:
        return f" within [{least:g}, {most:g}]"
    return "" if least is None else f" of at least {least:g}"


def delimiter_of(header: str) -> str:
    """What parts the columns of a table: the commas of its header or, if it has none, what else stands there."""
    bare = re.sub(r'"[^"]*"', "", header)
    return "," if "," in bare else max(",;\t|", key=bare.count)


def csv_table(path: Path, text: str) -> Table:
    """Read a table with a header, parted by commas, semicolons, tabs or bars.

    Blank lines are passed over, ragged rows are refused.
    """
    delimiter = delimiter_of(text.lstrip()[:_LONGEST_HEADER].splitlines()[0])
    reader = csv.reader(StringIO(text), strict=True, delimiter=delimiter)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if any(map(str.strip, row)):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise WorkloadError(f"{path}, line {reader.line_num}: this is not comma-separated text ({error}).") from error
    if not rows:
        raise WorkloadError(f"{path}: there is nothing in it but empty columns.")
    header = [name.strip() for name in rows[0]]
    doubled = {name for name in header if header.count(name) > 1}
    if doubled:
        raise WorkloadError(f"{path}, line {lines[0]}: the column '{min(doubled)}' stands twice in the header.")
    return replace(make_table(path, header, rows[1:], lines[1:]), decimal_comma=delimiter == ";")


def make_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int]) -> Table:
    """Turn rows into columns; a row with another number of cells than the header is refused."""
    if not rows:
        raise WorkloadError(f"{path}: there is no task in it, only a header.")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise WorkloadError(f"{path}, line {line}: {amount(len(row), 'column')} where {len(header)} are expected.")
    # One flat list and strides: a zip over many thousand rows would hold an iterator for each.
    flat = list(chain.from_iterable(rows))
    columns = {name: flat[place :: len(header)] for place, name in enumerate(header)}
    return Table(path=path, columns=columns, lines=lines)
