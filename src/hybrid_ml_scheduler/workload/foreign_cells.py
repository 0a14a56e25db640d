"""Cells as other programs write them: date-times, `1:23:45`, `83s`, `4 GB`, `1,234.5`, `n/a`; all as plain numbers.

What cannot be read is left as it is: the reader then refuses it with its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from hybrid_ml_scheduler.workload.table import Table

__all__ = [
    "EMPTY_WORDS",
    "epoch_unit",
    "is_time_column",
    "moments",
    "plain_cells",
    "plain_number",
    "scale_by_name",
    "unit_of_name",
]

EMPTY_WORDS = frozenset({"", "-", "na", "n/a", "nan", "nat", "none", "null", "unknown"})
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_UNIT = re.compile(r"([+-]?[\d.,' ]*\d\.?)\s*([A-Za-z%µ]+)", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)(?:-| days?,? ))?(\d+):([0-5]?\d)(?::([0-5]?\d(?:\.\d+)?))?", re.ASCII)
_DATE_TIME = re.compile(
    r"((?:19|20)\d\d)[-/](\d\d?)[-/](\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([,' ])\d{3})(?:\1\d{3})*(?:\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+", re.ASCII)
# The words of a column's name: `run_ms`, `run ms`, `runMs`, `memGB`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "usec"), 1e-6),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
_MEGABYTES = {
    **dict.fromkeys(("b", "byte", "bytes"), 1e-6),
    **dict.fromkeys(("k", "kb"), 1e-3),
    **dict.fromkeys(("m", "mb"), 1.0),
    **dict.fromkeys(("g", "gb"), 1e3),
    **dict.fromkeys(("t", "tb"), 1e6),
    "ki": 0.001024,
    "kib": 0.001024,
    "mi": 1.048576,
    "mib": 1.048576,
    **dict.fromkeys(("gi", "gib"), 1073.741824),
    **dict.fromkeys(("ti", "tib"), 1_099_511.627776),
}
_SHARES = {"%": 0.01}
# Since 1970, from 2001 to 2286: no file of tasks has arrivals like these by chance.
_EPOCHS = (
    (1e9, 1.0, "seconds"),
    (1e12, 1e-3, "milliseconds"),
    (1e15, 1e-6, "microseconds"),
    (1e18, 1e-9, "nanoseconds"),
)
_TIMES = ("cpu_time", "gpu_time", "deadline", "requested_time", "duration")
_AMOUNTS = ("size", "duration_factor", "speedup_factor")


def is_time_column(name: str) -> bool:
    """Whether a column of a task holds seconds of work."""
    return name in _TIMES or name.startswith("gpu_time.")


def unit_of_name(ours: str, theirs: str) -> tuple[float, str]:
    """How many of our units is that with which a mapped column's name ends (`run_ms`, `memGB`), and its name."""
    units = _SECONDS if ours == "arrival_time" else _units(ours) or {}
    words = _WORD.findall(theirs)
    unit = words[-1].lower() if len(words) > 1 else ""
    return (units[unit], unit) if unit in units and (len(unit) > 1 or unit == "h") else (1.0, "")


def scale_by_name(ours: str, theirs: str, cells: list[str], decimal_comma: bool) -> tuple[list[str], list[str]]:
    """The cells of a mapped column whose name ends with a unit in our unit, however they are written, and a note."""
    factor, unit = unit_of_name(ours, theirs)
    if factor == 1.0:
        return cells, []
    numbers = [plain_number(cell, decimal_comma) for cell in cells]
    scaled = [
        repr(float(number) * factor) if _PLAIN.fullmatch(number) else cell
        for cell, number in zip(cells, numbers, strict=True)
    ]
    note = f"unit_of_name: numbers of {theirs!r} are in {unit}, by its name."
    return scaled, [note] if scaled != cells else []


def plain_number(cell: str, decimal_comma: bool) -> str:
    """A number without a unit in plain form, whatever parts its thousands and decimals; else the cell itself."""
    return _amount(cell, {}, decimal_comma).strip()


def epoch_unit(values: Sequence[float]) -> tuple[float, str]:
    """How many seconds one is, and its name, if all values above 0 are times since 1970; else (1, "")."""
    known = [value for value in values if value > 0.0]
    for least, factor, unit in _EPOCHS:
        if known and least <= min(known) and max(known) < 10.0 * least:
            return factor, unit
    return 1.0, ""


def plain_cells(table: Table, foreign: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """The table with every column of numbers in plain form, and what was assumed of them.

    In `foreign` columns (those that were mapped) also words for nothing count as empty, and large arrival times as
    times since 1970: the product's own columns are taken as they are written.
    """
    columns, notes = dict(table.columns), []
    for name, cells in table.columns.items():
        if name in foreign:
            cells = ["" if cell.strip().lower() in EMPTY_WORDS else cell.strip() for cell in cells]
            columns[name] = cells
        if name == "arrival_time":
            columns[name], said = _arrivals(table, cells, foreign=name in foreign)
            notes += said
        elif name == "gpus_required":
            columns[name] = [_whole(cell) for cell in cells]
        elif (units := _units(name)) is not None and not _all_numbers(cells):
            columns[name] = [_amount(cell, units, table.decimal_comma) for cell in cells]
    return replace(table, columns=columns), notes


def _all_numbers(cells: Sequence[str]) -> bool:
    """Whether nothing need be read another way; words such as `nan` are refused by the reader."""
    try:
        return all(True for _ in map(float, cells))
    except ValueError:
        return False


def _units(name: str) -> dict[str, float] | None:
    """The units of a column of numbers; None for a column of something else."""
    if is_time_column(name):
        return _SECONDS
    found = {"memory_required": _MEGABYTES, "compute_intensity": _SHARES}
    return found.get(name, {} if name in _AMOUNTS else None)


def _amount(cell: str, units: dict[str, float], decimal_comma: bool) -> str:
    """A number with or without a unit, or for seconds a clock's time, as a plain number; itself where it is none."""
    text = cell.strip()
    clock = _CLOCK.fullmatch(text) if units is _SECONDS else None
    if clock is not None:
        days, hours, minutes, seconds = clock.groups()
        if seconds is None and days is None:  # 12:34 is minutes and seconds, as a stop watch shows it
            return repr(float(hours) * 60.0 + float(minutes))
        whole = float(days or 0) * 86_400.0 + float(hours) * 3600.0 + float(minutes) * 60.0
        return repr(whole + float(seconds or 0))
    with_unit = _UNIT.fullmatch(text)
    if with_unit is not None and with_unit[2].lower() in units:
        number = _number(with_unit[1].strip(), decimal_comma)
        return cell if number is None else repr(number * units[with_unit[2].lower()])
    number = None if _PLAIN.fullmatch(text) else _number(text, decimal_comma)
    return cell if number is None else repr(number)


def _number(text: str, decimal_comma: bool) -> float | None:
    """A number with thousands set apart or, where semicolons part the columns, with a decimal comma."""
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif _THOUSANDS.fullmatch(text):
        text = re.sub(r"[,' ]", "", text)
    return float(text) if _PLAIN.fullmatch(text) else None


def _whole(cell: str) -> str:
    """A whole number that was written as a decimal one (`2.0`)."""
    text = cell.strip()
    return text.partition(".")[0] if re.fullmatch(r"\d+\.0*", text, re.ASCII) else text


def _arrivals(table: Table, cells: list[str], *, foreign: bool) -> tuple[list[str], list[str]]:
    """Arrival times as seconds: from date-times, from times since 1970, or as they are."""
    if not _all_numbers(cells) and any(map(_is_date_time, cells)):
        since, first = moments(table, table.name_of("arrival_time"), cells)
        text = f"date_times: arrival_time is read from date-times; time 0 is the first, {first}."
        return [repr(seconds) for seconds in since], [text]
    if _all_numbers(cells):
        return _since_1970(cells) if foreign else (cells, [])
    found = [_amount(cell, _SECONDS, table.decimal_comma) for cell in cells]
    for row, cell in enumerate(found):
        if cell and not _all_numbers([cell]):
            demand = "neither a number of seconds nor a date-time like 2026-01-02T03:04:05Z"
            table.refuse(row, f"{table.cell_words('arrival_time', row)}, which is {demand}")
    return _since_1970(found) if foreign and all(found) else (found, [])


def _since_1970(cells: list[str]) -> tuple[list[str], list[str]]:
    """Seconds since the first of times that are counted from 1970."""
    values = [float(cell) for cell in cells]
    factor, unit = epoch_unit(values)
    first = min(values)
    if not unit or first <= 0.0:
        return cells, []
    start = f"{datetime.fromtimestamp(first * factor, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    text = f"epoch: arrival_time is read as {unit} since 1970; time 0 is the first, {start}."
    return [repr((value - first) * factor) for value in values], [text]


def _is_date_time(cell: str) -> bool:
    return _DATE_TIME.fullmatch(cell.strip()) is not None


def moments(table: Table, name: str, cells: Sequence[str]) -> tuple[list[float], str]:
    """Date-times as seconds since the earliest, and that one in words; all with a time zone, or none."""
    found = [_moment(cell.strip()) for cell in cells]
    zoned = next((one.tzinfo is not None for one in found if one is not None), False)
    stamps: list[datetime] = []
    for row, one in enumerate(found):
        if one is None:
            table.refuse(row, f"{name} is {cells[row]!r}, which is not a date-time like 2026-01-02T03:04:05Z")
        if (one.tzinfo is not None) != zoned:
            table.refuse(row, f"{name} is {cells[row]!r}: some date-times have a time zone and some have none")
        stamps.append(one)
    first = min(stamps)
    words = f"{first.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC" if zoned else f"{first:%Y-%m-%d %H:%M:%S}"
    return [(one - first).total_seconds() for one in stamps], words


def _moment(cell: str) -> datetime | None:
    """A date-time, with its zone if it has one; None for whatever is none."""
    found = _DATE_TIME.fullmatch(cell)
    if found is None:
        return None
    *numbers, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(one or 0) for one in numbers)
    try:
        moment = datetime(year, month, day, hour, minute, second, int((fraction or "0")[:6].ljust(6, "0")))
        return moment if zone is None else moment.replace(tzinfo=_zone(zone))
    except (ValueError, OverflowError):
        return None


def _zone(text: str) -> timezone:
    if text in ("Z", "UTC"):
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[-2:])
    return timezone((1 if text[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
