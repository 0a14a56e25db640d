"""The dialects of traces: known by name, recognised by content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.workload.csv_file import REQUIRED_COLUMNS
from hybrid_ml_scheduler.workload.mapping import suggested_map
from hybrid_ml_scheduler.workload.table import Table, csv_table, delimiter_of
from hybrid_ml_scheduler.workload.traces import azure_llm, gavel, openb, openb_requests, philly, swf, wfformat
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import Records

__all__ = ["DIALECTS", "OWN", "Dialect", "detect_dialect", "dialect_named"]

Read = Callable[[Path, str, TraceOptions], Records]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A form in which tasks come, with the header it is known by (if it has one)."""

    name: str
    about: str
    columns: tuple[str, ...] = ()
    read: Read | None = None


def _from_csv(columns: tuple[str, ...], read: Callable[[Table, TraceOptions], Records]) -> Read:
    def reader(path: Path, text: str, options: TraceOptions) -> Records:
        table = csv_table(path, text)
        for name in columns:
            if name not in table.columns:
                raise WorkloadError(f"{path}: the column '{name}' is missing.")
        return read(table, options)

    return reader


def _from_swf(path: Path, text: str, options: TraceOptions) -> Records:
    return swf.read(swf.swf_table(path, text), options)


OWN = "csv"
_ALL = (
    Dialect(name=OWN, about="the product's own CSV", columns=REQUIRED_COLUMNS),
    Dialect(name="swf", about="Standard Workload Format (Parallel Workloads Archive)", read=_from_swf),
    Dialect(name="wfformat", about="WfFormat 1.5 JSON (WfCommons)", read=wfformat.read),
    Dialect(name="gavel", about="Gavel job stream, with its table of throughputs", read=gavel.read),
    Dialect(
        name="philly",
        about="Microsoft Philly training jobs",
        columns=philly.COLUMNS,
        read=_from_csv(philly.COLUMNS, philly.read),
    ),
    Dialect(
        name="azure_llm",
        about="Azure LLM inference requests",
        columns=azure_llm.COLUMNS,
        read=_from_csv(azure_llm.COLUMNS, azure_llm.read),
    ),
    Dialect(
        name="openb",
        about="Alibaba openb pod list",
        columns=openb.COLUMNS,
        read=_from_csv(openb.COLUMNS, openb.read),
    ),
    Dialect(
        name="openb_requests",
        about="Alibaba openb pod list without times",
        columns=openb_requests.COLUMNS,
        read=_from_csv(openb_requests.COLUMNS, openb_requests.read),
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
    if begin[0] in "{[":
        if gavel.is_table(begin):
            raise WorkloadError(f"{path}: this is a table of throughputs; name the job stream that lies beside it.")
        return DIALECTS["wfformat"]
    first = begin[:10_000].splitlines()[0]
    if gavel.is_stream(first):
        return DIALECTS["gavel"]
    if first[0] == ";" or ("," not in first and _all_numbers(first.split())):
        return DIALECTS["swf"]
    names = [name.strip().strip('"') for name in first.split(delimiter_of(first))]
    header = set(names)
    shares = {name: _share(header, known.columns) for name, known in DIALECTS.items() if known.columns}
    # Among dialects whose columns are all there, the one with the most columns says the most.
    best = max(shares, key=lambda name: (shares[name], len(DIALECTS[name].columns)))
    if shares[best] < 0.5 and "arrival_time" in header and header & {"cpu_time", "gpu_time"}:
        return DIALECTS[OWN]  # with measured times, size and intensity are not needed
    if shares[best] < 0.5:
        raise WorkloadError(
            f"{path}, line 1: {json.dumps(first[:60])} is the beginning of no known dialect ({', '.join(DIALECTS)}). "
            f"Of any other CSV say which column is which, for example {suggested_map(names)}."
        )
    return DIALECTS[best]


def _share(header: set[str], columns: tuple[str, ...]) -> float:
    return len(header.intersection(columns)) / len(columns)


def _all_numbers(cells: list[str]) -> bool:
    return all(cell.lstrip("+-").replace(".", "", 1).isdigit() for cell in cells)
