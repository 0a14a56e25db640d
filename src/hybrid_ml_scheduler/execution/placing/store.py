"""Measured times that outlive a program: by machine, kind and device, as plain JSON that several processes may share.

One file a kind holds the latest measurements of every device and how many there ever were. Whoever writes holds the
folder's lock, reads the file, adds its own and replaces it whole. A file that cannot be read costs a sentence and is
begun afresh.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.hardware.machine import cpu_model, usable_cores

__all__ = ["KindHistory", "PerformanceStore", "machine_name", "store_folder"]

FORMAT = 1
# So many of the latest measurements of a kind on a device are kept.
KEPT = 256
FOLDER_VARIABLE = "HMS_PERFORMANCE_STORE"


def store_folder() -> Path:
    """Where measured times are kept: `HMS_PERFORMANCE_STORE`, or the user's cache folder."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "hybrid_ml_scheduler" / "performance"


def machine_name() -> str:
    """A name for this sort of machine: times of another processor are no guide."""
    words = f"{cpu_model()} {usable_cores()}"
    return hashlib.blake2b(words.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class KindHistory:
    """What is stored of a kind on a device: how often it was measured, when last, and the latest (size, seconds)."""

    kind: str
    device: str
    count: int
    last_seen: float
    latest: tuple[tuple[float, float], ...]


class PerformanceStore:
    """The measurements of one machine in one folder."""

    def __init__(self, folder: Path, machine: str | None = None) -> None:
        self.folder = folder / (machine or machine_name())
        self._fresh: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
        self._counts: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, kind: str, device: str, size: float, seconds: float) -> None:
        """Remember a measurement until the next `save`."""
        mine = self._fresh[kind][device]
        mine.append((size, seconds))
        self._counts[kind, device] += 1
        if len(mine) > 2 * KEPT:
            del mine[:-KEPT]

    def save(self) -> None:
        """Add what was remembered to the files; a folder that cannot be written costs a sentence."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, defaultdict(lambda: defaultdict(list))
        counts, self._counts = self._counts, defaultdict(int)
        try:
            with self._locked():
                for kind, devices in fresh.items():
                    self._add_to_file(kind, devices, counts)
        except OSError as error:
            _say(f"Measured times cannot be kept in {self.folder} ({error.strerror or error}).")

    def _add_to_file(
        self, kind: str, devices: dict[str, list[tuple[float, float]]], counts: dict[tuple[str, str], int]
    ) -> None:
        path = self._path(kind)
        content = self._content(path) or {"format": FORMAT, "kind": kind, "devices": {}}
        for device, values in devices.items():
            known = content["devices"].setdefault(device, {"count": 0, "last_seen": 0.0, "latest": []})
            known["count"] += counts[kind, device]
            known["last_seen"] = time.time()
            known["latest"] = [*known["latest"], *values][-KEPT:]
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(path)

    def histories(self) -> list[KindHistory]:
        """Everything that is stored, by kind and device."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            content = self._content(path)
            for device, known in (content or {"devices": {}})["devices"].items():
                latest = tuple((float(size), float(seconds)) for size, seconds in known["latest"])
                found.append(
                    KindHistory(
                        kind=str((content or {})["kind"]),
                        device=device,
                        count=int(known["count"]),
                        last_seen=float(known["last_seen"]),
                        latest=latest,
                    )
                )
        return sorted(found, key=lambda one: (one.kind, one.device))

    def observations(self) -> list[tuple[str, str, float, float]]:
        """The latest measurements as an executor learns them."""
        return [(one.kind, one.device, size, seconds) for one in self.histories() for size, seconds in one.latest]

    def forget(self, kind: str | None = None) -> int:
        """Remove what is stored of a kind, or of all; returns how many kinds that were."""
        paths = list(self.folder.glob("*.json")) if kind is None else [self._path(kind)]
        found = [path for path in paths if path.is_file()]
        if found:
            with self._locked():
                for path in found:
                    path.unlink(missing_ok=True)
        return len(found)

    def _path(self, kind: str) -> Path:
        return self.folder / f"{hashlib.blake2b(kind.encode(), digest_size=12).hexdigest()}.json"

    def _content(self, path: Path) -> dict[str, Any] | None:
        """What a file holds; a file that is no such thing is moved aside and told of."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] == FORMAT and all(_is_sound(known) for known in content["devices"].values()):
                return dict(content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        _say(f"{path} holds no measured times that can be read; they are begun afresh.")
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".unreadable"))
        return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _is_sound(known: dict[str, Any]) -> bool:
    pairs = [(float(size), float(seconds)) for size, seconds in known["latest"]]
    return int(known["count"]) >= 0 and float(known["last_seen"]) >= 0.0 and all(s > 0 < t for s, t in pairs)


def _say(sentence: str) -> None:
    print(f"hybrid_ml_scheduler: {sentence}", file=sys.stderr)
