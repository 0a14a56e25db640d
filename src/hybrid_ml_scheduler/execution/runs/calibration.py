"""What was measured of a machine: every kind alone, and by how much the devices slow each other down.

A calibration is plain data in a JSON file with a format number. It is made by `measuring`, used by the model of a run,
and says for which kinds, devices and loads it speaks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.runs.neighbours import Neighbours, no_neighbours
from hybrid_ml_scheduler.physics.interference import Slowdown

__all__ = ["Calibration", "Factor", "read_calibration", "write_calibration"]

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """How much slower a kind is while others are busy: the geometric mean, its uncertainty (of the logarithm), runs."""

    value: float
    spread: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All that the model needs to know of a machine and its kinds.

    `alone_s[device][kind][size]` are geometric means; `cross[device][kind]` is the slowdown while the other class of
    devices is busy, `within[kind]` while all CPU workers are; `residuals[device][kind]` are quantiles of what no factor
    explains. `rested` is the slowdown of a task that finds its worker at rest, by device and by `device:kind`, and
    `delay_s` how long that takes to begin. `repeated[device][kind][size]` is how much longer (below 1: shorter) a task
    takes right behind one of its own kind and size: it finds its data in the caches and its branches foreseen.
    `neighbours[device]` is what those who run beside a task do to it beyond that, `gaps_s[device]` the pause between
    two tasks as strategies place them. `drift` is how much the whole machine changes from one stretch of seconds to the
    next. `validated` says for which loads and strategies the model was compared with real runs, and how far it was off.
    """

    machine: Mapping[str, str]
    devices: Mapping[str, int]
    kinds: tuple[str, ...]
    alone_s: Mapping[str, Mapping[str, Mapping[str, float]]]
    cross: Mapping[str, Mapping[str, Factor]]
    within: Mapping[str, Factor]
    residuals: Mapping[str, Mapping[str, tuple[float, ...]]]
    gap_s: float
    delay_s: float
    drift: float
    rested: Mapping[str, Factor] = field(default_factory=dict)
    repeated: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    neighbours: Mapping[str, Neighbours] = field(default_factory=dict)
    gaps_s: Mapping[str, float] = field(default_factory=dict)
    validated: Mapping[str, Any] = field(default_factory=dict)

    def seconds(self, device: str, kind: str, size: float) -> float | None:
        """The seconds of a task alone; None where the device has no implementation."""
        by_size = self.alone_s.get(device, {}).get(kind)
        return None if by_size is None else by_size[str(int(size))]

    def repeat_factor(self, device: str, kind: str, size: float) -> float:
        """How much longer a task takes right behind one of its own kind and size."""
        return self.repeated.get(device, {}).get(kind, {}).get(str(int(size)), 1.0)

    def rested_factor(self, device: str, kind: str) -> float:
        """How much slower a task is that finds its worker at rest."""
        factor = self.rested.get(f"{device}:{kind}") or self.rested.get(device)
        return 1.0 if factor is None else factor.value

    def neighbours_beside(self, device: str, kinds: Sequence[str]) -> list[float]:
        """What neighbours do to tasks of a device: on the CPU and elsewhere for each kind, then a CPU that is full."""
        known = self.neighbours.get(device) or no_neighbours(kinds)
        return [*(table.get(kind, 0.0) for table in (known.on_cpu, known.elsewhere) for kind in kinds), known.full]

    def placed_excess(self, device: str, kind: str, size: float) -> float:
        """By how much (a logarithm) a kind and size is slower where strategies place it, whoever is beside."""
        known = self.neighbours.get(device)
        return 0.0 if known is None else known.own.get(f"{kind}:{int(size)}", known.own.get(kind, 0.0))

    @property
    def others(self) -> list[str]:
        """The devices beside the CPU; the factors of the first one speak for all."""
        return [device for device in self.devices if device != CPU]

    @property
    def cores_left(self) -> int:
        """How many cores are nobody's: the program that decides has to run somewhere."""
        return int(self.machine.get("cores", 0)) - sum(self.devices.values())

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The sizes that were measured, kind by kind."""
        return {kind: tuple(int(size) for size in self.alone_s[CPU][kind]) for kind in self.kinds}

    def of_kinds(self, names: Iterable[str] | None) -> Calibration:
        """The same for some of its kinds only."""
        missing = [name for name in names or () if name not in self.kinds]
        if missing:
            raise ProfileError(
                f"The calibration does not know the kind {missing[0]!r}; it knows {', '.join(self.kinds)}."
            )
        return self if names is None else replace(self, kinds=tuple(dict.fromkeys(names)))

    def observations(self) -> list[tuple[str, str, float, float]]:
        """The measurements as an executor learns them, slowed down as in a busy machine."""
        found = []
        for device, kinds in self.alone_s.items():
            for kind, sizes in kinds.items():
                factor = self.busy_factor(device, kind)
                found += [
                    (kind, device, float(size), seconds * factor) for size, seconds in sizes.items() for _ in range(4)
                ]
        return found

    def slowdowns(self) -> tuple[Slowdown, ...]:
        """By how much devices slow each other down, in the terms of a plan: the mean over all kinds, then each kind."""
        others = [table for device, table in self.cross.items() if device != CPU]
        tables = (self.cross.get(CPU, {}), others[0] if others else {}, self.within)
        common = tuple(_mean_factor(table.values()) for table in tables)
        found = [Slowdown(cpu=common[0], gpu=common[1], within=common[2])]
        for kind in self.kinds:
            cpu, gpu, within = (table[kind].value if kind in table else 1.0 for table in tables)
            found.append(Slowdown(kind=kind, cpu=max(cpu, 1.0), gpu=max(gpu, 1.0), within=max(within, 1.0)))
        return tuple(found)

    def size_excess(self, device: str, kind: str, size: int) -> float:
        """By how much (a logarithm) tasks of this size are slower on a busy machine than their kind's factor says."""
        row = self.residuals.get(device, {}).get(f"{kind}:{size}", (0.0,))
        return sum(row) / len(row)

    def busy_factor(self, device: str, kind: str) -> float:
        """How much slower a kind is on a machine that is busy everywhere."""
        factor = self.cross[device][kind].value if kind in self.cross.get(device, {}) else 1.0
        if device == CPU and kind in self.within:
            factor *= self.within[kind].value
        return factor


def _mean_factor(factors: Iterable[Factor]) -> float:
    """The geometric mean, at least 1 as a plan wants it; 1 of none."""
    logs = [math.log(factor.value) for factor in factors]
    return max(math.exp(sum(logs) / len(logs)), 1.0) if logs else 1.0


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write the file whole or not at all."""
    content = {"format": FORMAT, **asdict(calibration)}
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def read_calibration(path: Path) -> Calibration:
    """Read a calibration; anything else is refused in one sentence."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"{path}: this calibration cannot be read ({error.strerror or error}).") from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(
            f"{path}: this is no calibration: it holds no JSON; make one with `hms calibrate`."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ProfileError(f"{path}: this is no calibration of format {FORMAT}; make one with `hms calibrate`.")
    try:
        return _from_mapping(content)
    except KeyError as error:
        raise ProfileError(f"{path}: the calibration is damaged ({error} is missing).") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ProfileError(f"{path}: the calibration is damaged ({error}).") from error


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    found = {key: float(value) for key, value in table.items()}
    if not all(map(math.isfinite, found.values())):
        raise ValueError(f"{found} are not all finite")
    return found


def _neighbours(terms: Mapping[str, Any]) -> Neighbours:
    full = _numbers({"full": terms["full"]})["full"]
    return Neighbours(**{name: _numbers(terms[name]) for name in ("own", "on_cpu", "elsewhere")}, full=full)


def _from_mapping(content: dict[str, Any]) -> Calibration:
    # Files from before these were measured have none.
    content = {"validated": {}, "rested": {}, "repeated": {}, "neighbours": {}, "gaps_s": {}, **content}
    values = {one.name: content[one.name] for one in fields(Calibration)}
    values["kinds"] = tuple(values["kinds"])
    values["cross"] = {
        device: {kind: Factor(**factor) for kind, factor in kinds.items()} for device, kinds in content["cross"].items()
    }
    for name in ("within", "rested"):
        values[name] = {key: Factor(**factor) for key, factor in content[name].items()}
    values["neighbours"] = {device: _neighbours(terms) for device, terms in content["neighbours"].items()}
    values["gaps_s"] = _numbers(content["gaps_s"])
    values["repeated"] = {
        device: {kind: _numbers(sizes) for kind, sizes in kinds.items()}
        for device, kinds in content["repeated"].items()
    }
    if min(values["gaps_s"].values(), default=0.0) < 0.0:
        raise ValueError(f"gaps_s = {values['gaps_s']}")
    values["residuals"] = {
        device: {kind: tuple(map(float, row)) for kind, row in kinds.items()}
        for device, kinds in content["residuals"].items()
    }
    for name in ("gap_s", "delay_s", "drift"):
        if not 0.0 <= values[name] < math.inf:
            raise ValueError(f"{name} = {values[name]}")
    return Calibration(**values)
