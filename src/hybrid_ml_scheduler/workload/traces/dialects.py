"""The dialects of traces: known by name, recognised by content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.workload.csv_file import REQUIRED_COLUMNS, has_times
from hybrid_ml_scheduler.workload.json_rows import has_json_rows, header_of, table_of
from hybrid_ml_scheduler.workload.mapping import suggested_map
from hybrid_ml_scheduler.workload.row_filter import rows_where
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces import azure_llm, gavel, openb, openb_requests, philly, swf, wfformat
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import Assumption, Records

__all__ = ["DIALECTS", "OWN", "Dialect", "detect_dialect", "dialect_named"]

Rows = Mapping[str, Sequence[str]]
Read = Callable[[Path, str, TraceOptions, Rows], Records]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A form in which tasks come, with the header it is known by (if it has one)."""

    name: str
    about: str
    columns: tuple[str, ...] = ()
    read: Read | None = None


def _from_table(
    make: Callable[[Path, str], Table], read: Callable[[Table, TraceOptions], Records], columns: tuple[str, ...] = ()
) -> Read:
    """A reader of the rows of a table that are asked for."""

    def reader(path: Path, text: str, options: TraceOptions, rows: Rows) -> Records:
        table, notes = rows_where(make(path, text), rows)
        for name in columns:
            if name not in table.columns:
                raise WorkloadError(f"{path}: the column '{name}' is missing.")
        records = read(table, options)
        said = (Assumption(name=name, text=told) for name, _, told in (note.partition(": ") for note in notes))
        return replace(records, notes=(*records.notes, *said))

    return reader


def _from_document(name: str, read: Callable[[Path, str, TraceOptions], Records]) -> Read:
    def reader(path: Path, text: str, options: TraceOptions, rows: Rows) -> Records:
        if rows:
            raise PlanError(f"--where takes rows of a table, and {path} is read as {name}.")
        return read(path, text, options)

    return reader


OWN = "csv"
_ALL = (
    Dialect(name=OWN, about="the product's own CSV", columns=REQUIRED_COLUMNS),
    Dialect(
        name="swf",
        about="Standard Workload Format (Parallel Workloads Archive)",
        read=_from_table(swf.swf_table, swf.read),
    ),
    Dialect(name="wfformat", about="WfFormat 1.5 JSON (WfCommons)", read=_from_document("wfformat", wfformat.read)),
    Dialect(
        name="gavel", about="Gavel job stream, with its table of throughputs", read=_from_document("gavel", gavel.read)
    ),
    Dialect(
        name="philly",
        about="Microsoft Philly training jobs",
        columns=philly.COLUMNS,
        read=_from_table(table_of, philly.read, philly.COLUMNS),
    ),
    Dialect(
        name="azure_llm",
        about="Azure LLM inference requests",
        columns=azure_llm.COLUMNS,
        read=_from_table(table_of, azure_llm.read, azure_llm.COLUMNS),
    ),
    Dialect(
        name="openb",
        about="Alibaba openb pod list",
        columns=openb.COLUMNS,
        read=_from_table(table_of, openb.read, openb.COLUMNS),
    ),
    Dialect(
        name="openb_requests",
        about="Alibaba openb pod list without times",
        columns=openb_requests.COLUMNS,
        read=_from_table(table_of, openb_requests.read, openb_requests.COLUMNS),
    ),
)
DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})


def dialect_named(name: str) -> Dialect:
    """Return a dialect by name; a name that does not exist is refused with the nearest one."""
    if name not in DIALECTS:
        raise WorkloadError(f"There is no trace dialect '{name}'{nearest_hint(name, DIALECTS)}")
    return DIALECTS[name]


def detect_dialect(path: Path, text: str) -> Dialect:
    """Recognise the dialect from the beginning of the text."""
    begin = text.lstrip()
    if begin[0] in "{[" and not has_json_rows(begin):
        if gavel.is_table(begin):
            raise WorkloadError(f"{path}: this is a table of throughputs; name the job stream that lies beside it.")
        return DIALECTS["wfformat"]
    first, in_json = begin[:10_000].splitlines()[0], begin[0] in "{["
    if gavel.is_stream(first):
        return DIALECTS["gavel"]
    if first[0] == ";" or (not in_json and "," not in first and _all_numbers(first.split())):
        return DIALECTS["swf"]
    names = header_of(path, text)
    header = set(names)
    shares = {name: _share(header, known.columns) for name, known in DIALECTS.items() if known.columns}
    # Among dialects whose columns are all there, the one with the most columns says the most.
    best = max(shares, key=lambda name: (shares[name], len(DIALECTS[name].columns)))
    if shares[best] < 0.5 and "arrival_time" in header and has_times(names):
        return DIALECTS[OWN]  # with measured times, size and intensity are not needed
    if shares[best] < 0.5:
        raise WorkloadError(
            f"{path}, line 1: {json.dumps(first[:60])} is the beginning of no known dialect ({', '.join(DIALECTS)}). "
            f"Of any other table say which column is which, for example {suggested_map(names)}."
        )
    return DIALECTS[best]


def _share(header: set[str], columns: tuple[str, ...]) -> float:
    return len(header.intersection(columns)) / len(columns)


def _all_numbers(cells: list[str]) -> bool:
    return all(cell.lstrip("+-").replace(".", "", 1).isdigit() for cell in cells)
