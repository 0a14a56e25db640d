"""Profiles as JSON files: written whole or not at all, and read with suspicion."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.core.text import bounded_bytes
from hybrid_ml_scheduler.core.validation import MOST_AMOUNT
from hybrid_ml_scheduler.hardware.profile import DeviceProfile, Point, Profile, Reading, Series

__all__ = ["FORMAT", "VERSION", "read_profile", "to_mapping", "write_profile"]

FORMAT = "hybrid-ml-scheduler hardware profile"
VERSION = 1
_AXES = ("size", "bytes")
_LARGEST = MOST_AMOUNT
_MOST_BYTES = 64 * 2**20
_UNITS = {
    "s": "seconds of one call",
    "W": "watts",
    "size": "matrix dimension N; streaming reads two arrays of N*N numbers of 4 bytes and writes one",
    "bytes": "bytes of one copy",
    "memory_mb": "megabytes of 1,000,000 bytes",
}


def to_mapping(profile: Profile) -> dict[str, Any]:
    """The profile as plain values, in the form of the file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "units": _UNITS,
        "quick": profile.quick,
        "machine": dict(profile.machine),
        "cpu": _device_mapping(profile.cpu),
        "gpu": None if profile.gpu is None else _device_mapping(profile.gpu),
        "notes": list(profile.notes),
    }


def _device_mapping(device: DeviceProfile) -> dict[str, Any]:
    return {
        "name": device.name,
        "facts": dict(device.facts),
        "series": {name: _series_mapping(series) for name, series in device.series.items()},
        "readings": {name: asdict(found) for name, found in device.readings.items()},
    }


def _series_mapping(series: Series) -> dict[str, Any]:
    points = [
        {series.axis: int(point.at), "median": point.median, "iqr": point.iqr, "repeats": point.repeats}
        for point in series.points
    ]
    return {"unit": series.unit, "axis": series.axis, "method": series.method, "points": points}


def write_profile(profile: Profile, path: Path) -> None:
    """Write the file; what stood there before stays until the new one is complete."""
    text = json.dumps(to_mapping(profile), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ProfileError(f"The profile {path} cannot be written: {error.strerror}.") from None


def read_profile(path: Path) -> Profile:
    """Read and check a profile."""
    try:
        found = json.loads(bounded_bytes(path, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise ProfileError(f"There is no hardware profile {path}; `hms profile --out {path}` makes one.") from None
    except OSError as error:
        raise ProfileError(f"The hardware profile {path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ProfileError(f"{path} is no hardware profile: it is not valid JSON.") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ProfileError(f"{path} is no hardware profile: its `format` is not {FORMAT!r}.")
    if found.get("version") != VERSION:
        version = found.get("version")
        raise ProfileError(f"{path} has profile version {version!r}, this program reads {VERSION}; measure again.")
    return _Reader(path).profile(found)


class _Reader:
    """Turns plain values into records; every complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def profile(self, found: dict[str, Any]) -> Profile:
        gpu = found.get("gpu")
        machine = self._section(found, "machine", "")
        notes = found.get("notes", [])
        if not isinstance(notes, list):
            raise self._wrong("notes", "must be a list of sentences")
        return Profile(
            machine={str(key): str(value) for key, value in machine.items()},
            quick=found.get("quick") is True,
            cpu=self._device(self._section(found, "cpu", ""), "cpu"),
            gpu=None if gpu is None else self._device(self._section(found, "gpu", ""), "gpu"),
            notes=tuple(str(note) for note in notes),
        )

    def _device(self, found: Mapping[str, Any], key: str) -> DeviceProfile:
        series = self._section(found, "series", f"{key}.")
        readings = self._section(found, "readings", f"{key}.")
        facts = self._section(found, "facts", f"{key}.")
        return DeviceProfile(
            name=str(found.get("name", "unnamed")),
            facts={name: self._fact(value, f"{key}.facts.{name}") for name, value in facts.items()},
            series={name: self._series(value, f"{key}.series.{name}") for name, value in series.items()},
            readings={name: self._reading(value, f"{key}.readings.{name}") for name, value in readings.items()},
        )

    def _series(self, found: Any, key: str) -> Series:
        if not isinstance(found, dict) or not isinstance(found.get("points"), list):
            raise self._wrong(f"{key}.points", "must be a list")
        axis = found.get("axis")
        if axis not in _AXES:
            raise self._wrong(f"{key}.axis", f"must be one of {', '.join(_AXES)}")
        points = tuple(self._point(one, axis, f"{key}.points[{i}]") for i, one in enumerate(found["points"]))
        if any(left.at >= right.at for left, right in pairwise(points)):
            raise self._wrong(f"{key}.points", f"must grow in {axis!r}")
        return Series(unit=str(found.get("unit")), axis=axis, method=str(found.get("method")), points=points)

    def _point(self, found: Any, axis: str, key: str) -> Point:
        if not isinstance(found, dict):
            raise self._wrong(key, "must be a section of keys and values")
        return Point(at=self._above_zero(found, axis, key), **self._spread(found, key))

    def _reading(self, found: Any, key: str) -> Reading:
        if not isinstance(found, dict):
            raise self._wrong(key, "must be a section of keys and values")
        return Reading(unit=str(found.get("unit")), **self._spread(found, key))

    def _spread(self, found: dict[str, Any], key: str) -> dict[str, Any]:
        iqr, repeats = _number(found.get("iqr")), found.get("repeats")
        if not iqr >= 0:
            raise self._wrong(f"{key}.iqr", "must be a number of at least 0")
        if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
            raise self._wrong(f"{key}.repeats", "must be a whole number of at least 1")
        return {"median": self._above_zero(found, "median", key), "iqr": iqr, "repeats": repeats}

    def _above_zero(self, found: dict[str, Any], name: str, key: str) -> float:
        value = _number(found.get(name))
        if not value > 0:
            raise self._wrong(f"{key}.{name}", "must be a number above 0")
        return value

    def _fact(self, value: Any, key: str) -> float | str:
        if isinstance(value, str):
            return value
        if math.isfinite(_number(value)):
            return _number(value)
        raise self._wrong(key, "must be a number or a word")

    def _section(self, found: Mapping[str, Any], name: str, before: str) -> dict[str, Any]:
        section = found.get(name)
        if not isinstance(section, dict):
            raise self._wrong(f"{before}{name}", "must be a section of keys and values")
        return section

    def _wrong(self, key: str, demand: str) -> ProfileError:
        return ProfileError(f"The hardware profile {self._path} is damaged: {key} {demand}.")


def _number(value: Any) -> float:
    """A finite number, or NaN for anything else: NaN fails every comparison."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST
    return float(value) if plain else math.nan
