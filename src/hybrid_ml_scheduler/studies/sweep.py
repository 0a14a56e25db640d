"""A grid of plans: every cell is one point of the grid on one seed, run anywhere, stored whole.

A sweep file is a plan with one more section, `sweep`, whose keys are dotted names of the plan and whose
values are lists. All plans are made and checked before the first cell runs.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.plans.inputs import hardware_words, inputs_of, run_facts, versions
from hybrid_ml_scheduler.plans.plan import Plan, plan_from_mapping, read_plan_file
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE
from hybrid_ml_scheduler.studies.engines import Engine, Failure
from hybrid_ml_scheduler.studies.folder import ResultsFolder, plan_digest
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.race import entrants, race_seed
from hybrid_ml_scheduler.studies.sweep_tables import plain_value, sweep_tables

__all__ = ["CELLS", "KIND", "Cell", "Sweep", "load_sweep", "run_cell", "run_cells", "run_sweep", "sweep_from_mapping"]

Point = Mapping[str, Any]
KIND = "sweep"
CELLS = "cells"
_MOST_CELLS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the grid on one seed."""

    point: Point
    seed: int
    plan: Plan

    @property
    def digest(self) -> str:
        """A name that changes with anything that changes the result."""
        text = json.dumps([self.plan.to_mapping(), self.seed, dict(self.point)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]

    @property
    def label(self) -> str:
        """The cell in words."""
        return ", ".join([*(f"{key} = {value}" for key, value in self.point.items()), f"seed {self.seed}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A checked grid."""

    grid: Mapping[str, Sequence[Any]]
    cells: tuple[Cell, ...]
    source: Mapping[str, Any]

    def inputs(self) -> dict[str, str]:
        """What the cells depend on beside their plans."""
        found: dict[str, str] = {}
        for plan in {_named_by(cell.plan): cell.plan for cell in self.cells}.values():
            found.update(inputs_of(plan))
        return found


def _named_by(plan: Plan) -> tuple[Any, ...]:
    """All that decides which files a plan reads."""
    return plan.schedulers, plan.workload.source, plan.hardware, str(plan.options)


def load_sweep(path: Path) -> Sweep:
    """Read a sweep file and check every plan of its grid."""
    return sweep_from_mapping(read_plan_file(path), str(path))


def sweep_from_mapping(values: Mapping[str, Any], source: str = "sweep") -> Sweep:
    """Build a sweep from the sections of a plan with a section `sweep`, and check every plan of its grid."""
    base = {key: section for key, section in values.items() if key != "sweep"}
    grid = _grid(values.get("sweep"), source)
    cells = tuple(_cells(base, grid, source))
    return Sweep(grid=grid, cells=cells, source={**base, "sweep": {key: list(found) for key, found in grid.items()}})


def _grid(section: Any, path: str) -> dict[str, Sequence[Any]]:
    if not isinstance(section, Mapping) or not section:
        raise PlanError(f"{path}: a sweep needs a section [sweep] with lists, such as workload.arrival_rate = [2, 4].")
    grid: dict[str, Sequence[Any]] = {}
    for key, found in _flat(section):
        if not isinstance(found, list) or not found:
            raise PlanError(f"{path}: sweep.{key} must be a list of at least one value.")
        if "." not in key:
            raise PlanError(f"{path}: sweep.{key} must name a section and a key, such as workload.{key}.")
        if len({json.dumps(value, sort_keys=True) for value in found}) < len(found):
            raise PlanError(f"{path}: sweep.{key} names a value more than once.")
        grid[key] = found
    return grid


def _flat(section: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names, whether written as "a.b" or as nested tables."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _cells(values: Mapping[str, Any], grid: Mapping[str, Sequence[Any]], path: str) -> Iterator[Cell]:
    count = 1
    for found in grid.values():
        count *= len(found)
    if count > _MOST_CELLS:
        raise PlanError(f"{path}: the grid has {count:,} points; at most {_MOST_CELLS:,} are possible.")
    for choice in product(*grid.values()):
        point = dict(zip(grid, choice, strict=True))
        plan = _plan_at(values, point, path)
        for seed in range(plan.seed, plan.seed + plan.seeds):
            yield Cell(point=point, seed=seed, plan=replace(plan, seed=seed, seeds=1))


def _plan_at(values: Mapping[str, Any], point: Point, source: str) -> Plan:
    """The plan with the point's values set; unknown keys are refused with the nearest one."""
    sections = copy.deepcopy(dict(values))
    for key, value in point.items():
        *folders, last = key.split(".")
        place = sections
        for folder in folders:
            place = place.setdefault(folder, {})
            if not isinstance(place, dict):
                raise PlanError(f"{source}: sweep.{key} goes through {folder}, which is a value and not a section.")
        place[last] = value
    try:
        return _checked(plan_from_mapping(sections, source))
    except HmsError as error:
        raise PlanError(_blamed(str(error), point, source)) from error


def _checked(plan: Plan) -> Plan:
    """The plan with its strategies, made once to see that they can be, and a workload file that exists."""
    if not plan.workload.is_preset and not Path(plan.workload.source).is_file():
        raise PlanError(f"workload.file = {plan.workload.source!r} does not exist.")
    plan = plan if plan.schedulers else replace(plan, schedulers=DEFAULT_RACE)
    entrants(plan)
    return plan


_HINT = re.compile(r"; (?:did you mean |known: |it belongs to )")


def _blamed(sentence: str, point: Point, source: str) -> str:
    """A refusal with the file, and with the key of the grid whose value it speaks of."""
    sentence = sentence.removeprefix(f"{source}: ")
    fault = _HINT.split(sentence)[0]  # what is known or near is nobody's fault
    for clues in (lambda key, _: (key,), lambda key, _: (key.rpartition(".")[2],), _value_clues):
        places = {key: _first_place(fault, clues(key, value)) for key, value in point.items()}
        told = {key: place for key, place in places.items() if place is not None}
        if told:
            return f"{source}: sweep.{min(told, key=lambda key: told[key])}: {sentence}"
    return f"{source}: {sentence}"


def _value_clues(_: str, value: Any) -> tuple[str, ...]:
    """How a sentence may write a value of the grid, or one of the values in a list of it."""
    values = value if isinstance(value, list) else [value]
    return tuple(clue for one in values for clue in (repr(one), f"= {one}"))


def _first_place(sentence: str, clues: Sequence[str]) -> int | None:
    """Where the first of the clues stands in a sentence as a whole word: 1 is no part of -1, of 0.1 or of 10."""
    found = [re.search(rf"(?<![\w.+-]){re.escape(clue)}(?!\.?\w)", sentence) for clue in clues]
    return min((match.start() for match in found if match is not None), default=None)


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """Race all strategies of a cell and return one flat row a strategy."""
    race = race_seed(cell.plan, entrants(cell.plan), cell.seed)
    rows = []
    for name in race.summaries:
        metrics = race.metrics(name)
        shares = metrics.pop("utilization")
        metrics.update({f"utilization_{device}": share for device, share in shares.items()})
        bound = {"makespan_bound_s": race.bound.makespan_s, "mean_time_bound_s": race.bound.mean_time_s}
        rows.append({"scheduler": name, "seed": race.seed, "tasks": race.tasks, **metrics, **bound})
    rows[0]["assumptions"] = race.assumptions  # of the cell: once is enough
    return rows


def run_sweep(
    sweep: Sweep, folder: ResultsFolder, engine: Engine, step: Callable[[str], None] = lambda _: None
) -> dict[str, str]:
    """Run the cells that are not stored yet, build the tables, and return the failures by cell."""
    failures = run_cells(sweep, folder, engine, step)
    if not failures:
        folder.complete()
    return failures


def run_cells(sweep: Sweep, folder: ResultsFolder, engine: Engine, step: Callable[[str], None]) -> dict[str, str]:
    """The cells and tables of a sweep without an end: there may be plots and a report to come."""
    places = [folder.path / "cells" / f"{cell.digest}.json" for cell in sweep.cells]
    missing = [index for index, place in enumerate(places) if not place.is_file()]
    for index in sorted(set(range(len(places))) - set(missing)):
        step(sweep.cells[index].label)
    found: dict[int, str] = {}
    with folder.phase(CELLS):
        for place, outcome in engine.results(run_cell, [sweep.cells[index] for index in missing]):
            index = missing[place]
            if isinstance(outcome, Failure):
                found[index] = outcome.reason
            else:
                write_whole(places[index], json.dumps(outcome).encode("utf-8"))
            step(sweep.cells[index].label)
        failures = {sweep.cells[index].label: found[index] for index in sorted(found)}
        _write_results(sweep, folder, places, failures)
    return failures


def _write_results(sweep: Sweep, folder: ResultsFolder, places: Sequence[Path], failures: Mapping[str, str]) -> None:
    """The tables of the cells that are there, and what was run with what."""
    rows: list[dict[str, Any]] = []
    assumptions: dict[str, None] = {}
    for cell, place in zip(sweep.cells, places, strict=True):
        if place.is_file():
            point = {key: plain_value(value) for key, value in cell.point.items()}
            for row in json.loads(place.read_bytes()):
                assumptions.update(dict.fromkeys(row.pop("assumptions", ())))
                rows.append({**point, **row})
    if rows:
        for name, frame in sweep_tables(rows).items():
            folder.write_table(name, frame)
    folder.write_json("versions.json", versions())
    folder.write_json("run.json", {**_run_facts(sweep), "assumptions": list(assumptions), "failures": len(failures)})
    folder.write_json("failures.json", failures)


def _run_facts(sweep: Sweep) -> dict[str, Any]:
    plans = {_named_by(cell.plan): cell.plan for cell in sweep.cells}.values()
    learning: dict[str, list[str]] = {}
    for entrant in (entrant for plan in plans for entrant in entrants(plan)):
        learning.setdefault(entrant.name, []).append(entrant.learning)
    hardware = [hardware_words(plan.node) for plan in plans]
    return run_facts(
        KIND,
        sweep.source,
        plan_digest(KIND, sweep.source)[:16],
        cells=len(sweep.cells),
        seeds=len({cell.seed for cell in sweep.cells}),
        grid={key: len(values) for key, values in sweep.grid.items()},
        schedulers={name: " or ".join(dict.fromkeys(modes)) for name, modes in learning.items()},
        hardware=", ".join(dict.fromkeys(hardware)),
    )
