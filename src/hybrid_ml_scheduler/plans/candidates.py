"""Candidate nodes from a file: `[[node]]` sections with a name, GPU types and counts, and a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.physics.node import Node
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping
from hybrid_ml_scheduler.plans.plan import read_plan_file

__all__ = ["Candidate", "candidates_from_mapping", "load_candidates"]

_KEYS = ("name", "gpu_type", "gpus", "price_usd_h", "purchase", "physics", "hardware")
_SECONDS_PER_HOUR = 3600.0
_MOST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A node that could be bought or rented: its rent by the hour, and its purchase price in any one currency.

    `is_example` says that the rent is the catalogue's example, because the file gives none.
    """

    name: str
    node: Node
    price_usd_h: float
    purchase: float | None = None
    is_example: bool = False


def load_candidates(path: Path) -> list[Candidate]:
    """Read the nodes of a TOML or YAML file; every refusal names the file and the node."""
    return candidates_from_mapping(read_plan_file(path), str(path))


def candidates_from_mapping(values: Mapping[str, Any], source: str, *, files: bool = True) -> list[Candidate]:
    """The nodes from plain values in the form of such a file; without `files` none may name a profile on the disk."""
    listed, types = values.get("node"), values.get("types", {})
    unknown = [key for key in values if key not in ("node", "types")]
    if unknown:
        raise PlanError(f"{source}: a file of nodes has no section {unknown[0]!r}; it has [[node]] and [types].")
    if not isinstance(listed, (list, tuple)) or not 1 <= len(listed) <= _MOST:
        raise PlanError(f"{source}: a file of nodes needs 1 to {_MOST} sections [[node]].")
    if not files:
        _refuse_files(listed, types, source)
    candidates = [_candidate(one, types, f"{source}, node {place}") for place, one in enumerate(listed, 1)]
    names = [one.name for one in candidates]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise PlanError(f"{source}: two nodes are called {doubled[0]!r}.")
    return candidates


def _refuse_files(listed: Sequence[Any], types: Any, source: str) -> None:
    """Who asks from elsewhere names no files of this machine."""
    sections = [types, *(one.get("physics", {}).get("types") for one in listed if _has_section(one, "physics"))]
    edited = [one for section in sections if isinstance(section, Mapping) for one in section.values()]
    if any(isinstance(one, Mapping) and "hardware" in one for one in listed) or any(
        isinstance(one, Mapping) and "profile" in one for one in edited
    ):
        raise PlanError(f"{source}: a hardware profile can only be named on the command line.")


def _has_section(one: Any, name: str) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get(name), Mapping)


def _candidate(section: Any, types: Any, where: str) -> Candidate:
    if not isinstance(section, Mapping):
        raise PlanError(f"{where} must be a section of keys and values.")
    for key in section:
        if key not in _KEYS:
            raise PlanError(f"{where} has no key {key!r}{nearest_hint(key, _KEYS)}")
    physics = dict(section.get("physics", {}))
    if "gpu_type" in section:
        if "gpu" in physics or "gpus" in physics:
            raise PlanError(f"{where}: gpu_type does not go with GPUs in its physics section.")
        physics["gpu"] = {"type": section["gpu_type"]}
    if types:
        physics["types"] = types
    if "gpus" not in section and "gpus" not in physics:
        raise PlanError(f"{where} does not say how many GPUs it has. Add gpus, for example gpus = 2.")
    try:
        node = node_from_mapping(physics, section.get("gpus"), section.get("hardware"), where)
    except HmsError as error:
        said = str(error).replace("simulation.num_gpus", "gpus")
        raise PlanError(said if where in said else f"{where}: {said}") from None
    name = section.get("name", f"{section.get('gpus', node.num_gpus)} x {section.get('gpu_type', 'GPU')}")
    if not isinstance(name, str) or not name:
        raise PlanError(f"{where}: name = {name!r} must be text.")
    rent = _price(section, "price_usd_h", where)
    return Candidate(
        name=name,
        node=node,
        price_usd_h=node.price_usd_s * _SECONDS_PER_HOUR if rent is None else rent,
        purchase=_price(section, "purchase", where),
        is_example=rent is None,
    )


def _price(section: Mapping[str, Any], key: str, where: str) -> float | None:
    """A price that is given; None where it is not."""
    given = section.get(key)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= given < float("inf"):
        raise PlanError(f"{where}: {key} = {given!r} must be a finite number of at least 0.")
    return float(given)
