"""Tables written as JSON: one object a line (JSON lines), or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.workload.table import Table, csv_table, delimiter_of, make_table

__all__ = ["has_json_rows", "header_of", "table_of"]

_LOOKED_AT = 100
_BETWEEN = re.compile(r"[\s,]*")


def has_json_rows(text: str) -> bool:
    """Whether a text is a table in JSON, and neither one document (such as WfFormat) nor a CSV."""
    begin = text.lstrip()
    if begin[:1] == "[":
        return begin[1:].lstrip()[:1] == "{"
    if begin[:1] != "{":
        return False
    try:
        first, end = json.JSONDecoder().raw_decode(begin)
    except (ValueError, RecursionError):
        first, end = None, 0
    if first is None:  # a damaged document, or a damaged first line of several
        return begin.splitlines()[0].rstrip().endswith("}")
    is_one_task = "schemaVersion" not in first and not all(isinstance(value, dict) for value in first.values())
    return bool(begin[end:].strip()) or is_one_task


def table_of(path: Path, text: str) -> Table:
    """Read a table, whether it is written as CSV or as JSON."""
    return _json_table(path, text) if has_json_rows(text) else csv_table(path, text)


def header_of(path: Path, text: str) -> list[str]:
    """The names of a table's columns; of JSON those of the first objects."""
    if has_json_rows(text):
        return list(_columns(one for _, one in islice(_objects(path, text), _LOOKED_AT)))
    first = text.lstrip()[:10_000].splitlines()[0]
    return [name.strip().strip('"') for name in first.split(delimiter_of(first))]


def _json_table(path: Path, text: str) -> Table:
    numbered = list(_objects(path, text))
    header = _columns(one for _, one in numbered)
    rows = [[_cell(one.get(name)) for name in header] for _, one in numbered]
    return make_table(path, list(header), rows, [line for line, _ in numbered])


def _columns(objects: Iterator[Mapping[str, Any]]) -> dict[str, None]:
    """Every name in order of appearance: an object may leave out what it does not know."""
    return dict.fromkeys(name for one in objects for name in one)


def _objects(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object with its line; names of nested objects are joined by dots."""
    begin = len(text) - len(text.lstrip())
    is_array = text[begin] == "["
    place, line, counted = begin + is_array, 1, 0
    end = len(text.rstrip()) - (is_array and text.rstrip().endswith("]"))
    decoder = json.JSONDecoder()
    while True:
        between = _BETWEEN.match(text, place)
        place = place if between is None else between.end()
        if place >= end:
            return
        line += text.count("\n", counted, place)
        counted = place
        try:
            found, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise WorkloadError(f"{path}, line {error.lineno}: this is not JSON ({error.msg}).") from error
        except (ValueError, RecursionError) as error:
            raise WorkloadError(f"{path}, line {line}: this JSON is too deep or holds an absurd number.") from error
        if not isinstance(found, dict):
            raise WorkloadError(f'{path}, line {line}: each task is a JSON object such as {{"arrival_time": 0}}.')
        yield line, dict(_flat(found))


def _flat(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _cell(value: Any) -> str:
    """A value as a cell of a CSV has it; what is null or left out is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
