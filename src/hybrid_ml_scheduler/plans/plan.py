"""The plan: *what* is simulated. Frozen, validated before anything runs, hashed and stored with every result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, time
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, EXACT, Backlogs, Level, checked_backlogs, checked_level
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.core.text import bounded_bytes, nearest_hint
from hybrid_ml_scheduler.core.validation import MOST_OPEN, MOST_SEED, MOST_SEEDS
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.idle_physics import refuse_idle_physics
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping, node_to_mapping
from hybrid_ml_scheduler.plans.truth_plan import TRUTH_KEYS, truth_from_mapping, usual_truth
from hybrid_ml_scheduler.workload import DEFAULT_PRESET, PRESETS, Part, WorkloadParameters, preset, resolve

__all__ = [
    "Plan",
    "WorkloadChoice",
    "check_last_seed",
    "load_plan",
    "plan_from_mapping",
    "read_plan_file",
    "unknown_key",
]

SECTIONS = ("simulation", "workload", "physics", "truth", "knowledge", "schedulers")
_KEYS: dict[str, tuple[str, ...]] = {
    "simulation": ("num_gpus", "seed", "seeds", "retrain_interval", "most_open", "hardware"),
    "workload": ("preset", "file", "dialect", "options", "part", *(item.name for item in fields(WorkloadParameters))),
    "truth": TRUTH_KEYS,
    "knowledge": ("level", "nominal_backlogs"),
}
_TOML, _YAML = ".toml", (".yaml", ".yml")
_MOST_BYTES = 16 * 2**20
_COUNTS = {
    "seed": (0, MOST_SEED),
    "seeds": (1, MOST_SEEDS),
    "retrain_interval": (1, 1_000_000),
    "most_open": (1, 1_000_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChoice:
    """A preset with replaced parameters, or a file with trace options."""

    source: str = DEFAULT_PRESET
    num_tasks: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    dialect: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    part: Part | None = None

    @property
    def is_preset(self) -> bool:
        """Whether tasks are generated rather than read."""
        return self.source in PRESETS

    def parameters(self) -> WorkloadParameters:
        """The laws of a generated workload."""
        count = {} if self.num_tasks is None else {"num_tasks": self.num_tasks}
        return preset(self.source).with_values({**self.values, **count})

    def tasks(self, seed: int, node: Node | None = None) -> TaskBatch:
        """The tasks that belong to this seed; a load asked for is a load of this node."""
        return resolve(
            self.source,
            seed=seed,
            num_tasks=self.num_tasks,
            values=self.values,
            dialect=self.dialect,
            options=self.options,
            node=node,
            part=self.part,
        )

    def to_mapping(self) -> dict[str, Any]:
        """Plain values: every parameter of a preset, or the file and its options."""
        if self.is_preset:
            return {"preset": self.source, **self.parameters().to_mapping()}
        found: dict[str, Any] = {"file": self.source, "dialect": self.dialect, "options": dict(self.options)}
        if self.part is not None:
            found["part"] = [self.part.begin, self.part.end]
        return {**found, "num_tasks": self.num_tasks, **self.values}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that determines a result, apart from the versions of the program's parts."""

    seed: int = 0
    seeds: int = 1
    retrain_interval: int = 50
    most_open: int = MOST_OPEN
    workload: WorkloadChoice = field(default_factory=WorkloadChoice)
    node: Node = field(default_factory=Node)
    hardware: str | None = None
    truth: Truth | None = None
    knowledge: Level = EXACT
    nominal_backlogs: Backlogs = ESTIMATED
    schedulers: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, (least, most) in _COUNTS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise PlanError(f"simulation.{name} = {value!r} must be a whole number from {least} to {most}.")
        check_last_seed("simulation.seeds", self.seeds, self.seed)
        checked_level("knowledge.level", self.knowledge)
        checked_backlogs("knowledge.nominal_backlogs", self.nominal_backlogs)
        if self.workload.is_preset:
            self.workload.parameters()
        doubled = sorted({name for name in self.schedulers if self.schedulers.count(name) > 1})
        if doubled:
            raise PlanError(f"schedulers.race names {doubled[0]!r} more than once.")

    def tasks(self, seed: int) -> TaskBatch:
        """The tasks of this seed on this plan's node; a figure of it that cannot act on them is refused."""
        batch = self.workload.tasks(seed, self.node)
        if not self.workload.is_preset:
            refuse_idle_physics(batch, self.node, self.workload.source)
        return batch

    @property
    def hidden(self) -> Truth:
        """How far real seconds are from the formula: as the plan says, else as is usual for its workload."""
        return usual_truth(self.workload.source) if self.truth is None else self.truth

    def with_values(self, **values: Any) -> Plan:
        """A plan with some fields replaced; `None` leaves a field as it is."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, in the form a plan file has."""
        simulation: dict[str, Any] = {"num_gpus": self.node.num_gpus, "seed": self.seed, "seeds": self.seeds}
        simulation["retrain_interval"] = self.retrain_interval
        if self.most_open != MOST_OPEN:  # so a plan from before strategies could hold keeps its digest
            simulation["most_open"] = self.most_open
        if self.hardware is not None:
            simulation["hardware"] = self.hardware
        # Left out where nothing is hidden and all is told: so a plan from before there was a truth keeps its digest.
        plain = self.hidden.is_the_formula and usual_truth(self.workload.source).is_the_formula
        hidden = {} if plain else {"truth": self.hidden.to_mapping()}
        told: dict[str, Any] = {} if self.knowledge == EXACT else {"level": self.knowledge}
        if self.nominal_backlogs != ESTIMATED:
            told["nominal_backlogs"] = self.nominal_backlogs
        return {
            "simulation": simulation,
            "workload": self.workload.to_mapping(),
            "physics": node_to_mapping(self.node),
            **hidden,
            **({"knowledge": told} if told else {}),
            "schedulers": {"race": list(self.schedulers), **{k: dict(v) for k, v in self.options.items()}},
        }

    @property
    def digest(self) -> str:
        """A short hash that changes whenever the plan does."""
        text = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_last_seed(name: str, seeds: int, seed: int) -> None:
    """Refuse a number of seeds whose last one would be greater than any seed may be."""
    if seed + seeds - 1 > MOST_SEED:
        raise PlanError(f"{name} = {seeds} from seed {seed} on goes beyond the greatest seed, {MOST_SEED}.")


def unknown_key(path: str, key: str, known: Iterable[str]) -> PlanError:
    """The error for a key that does not exist, with the nearest one that does."""
    return PlanError(f"{path} has no key {key!r}{nearest_hint(key, known)}")


def load_plan(path: Path) -> Plan:
    """Read a plan from a TOML or YAML file; every refusal names the file."""
    values = read_plan_file(path)
    section = values.get("schedulers")
    if isinstance(section, Mapping) and section.get("race") == []:
        raise PlanError(f"{path}: schedulers.race names nobody; leave it out for the usual strategies.")
    try:
        return plan_from_mapping(values, str(path))
    except HmsError as error:
        if str(path) in str(error):
            raise
        raise PlanError(f"{path}: {error}") from error


def read_plan_file(path: Path) -> Mapping[str, Any]:
    """The sections of a plan file as plain values, not yet checked."""
    if path.exists() and path.suffix not in (_TOML, *_YAML):
        raise PlanError(f"{path}: a plan file ends in .toml, .yaml or .yml.")
    try:
        text = bounded_bytes(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise PlanError(f"There is no plan file {path}.") from None
    except UnicodeDecodeError:
        raise PlanError(f"The plan file {path} cannot be read: it is not UTF-8 text.") from None
    except OSError as error:
        raise PlanError(f"The plan file {path} cannot be read: {error.strerror or error}.") from None
    found = _parsed(path, text)
    if not isinstance(found, Mapping):
        raise PlanError(f"{path}: a plan is made of sections: {', '.join(SECTIONS)}.")
    return found


def _parsed(path: Path, text: str) -> Any:
    if path.suffix != _TOML:
        import yaml

        try:
            return _plain(yaml.safe_load(text) or {})
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise PlanError(f"{path}{_yaml_reason(error)}.") from None
    try:
        return _plain(_toml(text))
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is not valid TOML: {error}.") from None


def _yaml_reason(error: Exception) -> str:
    """The line and the reason of a mistake in a YAML file, as people write them."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    line = "" if mark is None else f", line {mark.line + 1}"
    reason = " ".join(str(problem or getattr(error, "reason", None) or error).split())
    plain = reason.replace("'<stream end>'", "the end of the file")
    return f"{line} is not valid YAML: {plain}"


def _plain(value: Any) -> Any:
    """The same with dates as text: a plan has none, and what it has instead is refused as it was written."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _toml(text: str) -> Any:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def plan_from_mapping(values: Mapping[str, Any], source: str = "plan") -> Plan:
    """Build and check a plan from sections of plain values; every key must be known."""
    for key, section in values.items():
        if key not in SECTIONS:
            raise unknown_key(source, key, SECTIONS)
        if not isinstance(section, Mapping):
            raise PlanError(f"{source}: {key} must be a section of keys and values.")
    simulation = dict(values.get("simulation", {}))
    for key in simulation:
        if key not in _KEYS["simulation"]:
            raise _misplaced_key(source, "simulation", key)
    knowledge = values.get("knowledge", {})
    for key in knowledge:
        if key not in _KEYS["knowledge"]:
            raise _misplaced_key(source, "knowledge", key)
    num_gpus, hardware = simulation.pop("num_gpus", None), simulation.pop("hardware", None)
    race, options = _schedulers(values.get("schedulers", {}), source)
    return Plan(
        **simulation,
        hardware=hardware,
        node=node_from_mapping(values.get("physics", {}), num_gpus, hardware, source),
        workload=_workload(values.get("workload", {}), source),
        truth=truth_from_mapping(values["truth"], source) if "truth" in values else None,
        knowledge=checked_level(f"{source}: knowledge.level", knowledge.get("level", EXACT)),
        nominal_backlogs=checked_backlogs(
            f"{source}: knowledge.nominal_backlogs", knowledge.get("nominal_backlogs", ESTIMATED)
        ),
        schedulers=race,
        options=options,
    )


def _misplaced_key(source: str, section: str, key: str) -> PlanError:
    """The error for a key that a section does not have, and for one that only the other section has."""
    for other, elsewhere in _KEYS.items():
        if key in elsewhere:
            return PlanError(f"{source}: {section} has no key {key!r}; it belongs to the section {other}.")
    return unknown_key(f"{source}: {section}", key, _KEYS[section])


def _workload(section: Mapping[str, Any], source: str) -> WorkloadChoice:
    values = dict(section)
    for key in values:
        if key not in _KEYS["workload"]:
            raise _misplaced_key(source, "workload", key)
    name, file = values.pop("preset", None), values.pop("file", None)
    if name is not None and file is not None:
        raise PlanError(f"{source}: workload has both a preset and a file; choose one.")
    if name is not None:
        preset(name)
    return WorkloadChoice(
        source=str(file if file is not None else name or DEFAULT_PRESET),
        num_tasks=values.pop("num_tasks", None),
        dialect=values.pop("dialect", None),
        options=values.pop("options", {}) or {},
        part=Part.from_value(values.pop("part", None)),
        values=values,
    )


def _schedulers(section: Mapping[str, Any], source: str) -> tuple[tuple[str, ...], Mapping[str, Mapping[str, Any]]]:
    values = dict(section)
    race = values.pop("race", ())
    if not isinstance(race, (list, tuple)) or not all(isinstance(name, str) for name in race):
        raise PlanError(f"{source}: schedulers.race must be a list of names.")
    for name, options in values.items():
        if not isinstance(options, Mapping):
            raise PlanError(f"{source}: schedulers.{name} must be a section of options.")
    return tuple(race), values
