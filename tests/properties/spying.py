"""Strategies that write down all they can reach, and files of every reader whose true times can be changed."""

from __future__ import annotations

import csv
import io
import json
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView, soonest_device
from hybrid_ml_scheduler.core.protocols import BatchRule, RuleKind
from tests.unit.workload.comparing import DATA

Change = Callable[[int], float]
Write = Callable[[Path, Change], Path]
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)
_DEEPEST = 6


def reached(thing: object, depth: int = 0) -> str:
    """Everything that public names of an object lead to, as text."""
    if depth > _DEEPEST or thing is None or isinstance(thing, (bool, int, float, str, bytes, Path)):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        return f"{thing.shape}{thing.tolist()}"
    if isinstance(thing, (np.generic, complex)):
        return repr(thing)
    if isinstance(thing, dict):
        return "{" + ",".join(f"{key!r}:{reached(value, depth + 1)}" for key, value in thing.items()) + "}"
    found = []
    if isinstance(thing, (list, tuple, set, frozenset)) or hasattr(type(thing), "__iter__"):
        found = [reached(value, depth + 1) for value in thing]  # type: ignore[attr-defined]
    for name in dir(thing):
        value = None if name.startswith("_") else getattr(thing, name, None)
        if value is not None and not isinstance(value, _CODE) and not callable(value):
            found.append(f"{name}={reached(value, depth + 1)}")
    return f"{type(thing).__name__}({';'.join(found)})"


def _asked(task: Task, view: ClusterView) -> str:
    """What a strategy is told when it asks about a task."""
    known, gpus = view.estimator, range(view.estimator.num_gpus)
    parts = [known.parts(task, share, gpu) for gpu in gpus for share in (0.0, 0.5, 1.0)]
    ends = [view.completion_s(task, share, gpu) for gpu in gpus for share in (0.0, 0.5, 1.0)]
    seconds = known.cpu_s(task), [known.gpu_s(task, gpu) for gpu in gpus]
    terms = reached(known.batch_terms(TaskBatch.from_tasks([task])))
    return f"{seconds}{parts}{ends}{terms}{reached(known.terms(task))}"


@dataclass
class Spy:
    """Decides by completion times, and notes at every decision the moment and all that it could reach."""

    name: str = "spy"
    notes: list[tuple[float, str]] = field(default_factory=list)

    def prepare(self, context: RaceContext) -> None:
        self.notes.append((0.0, reached(context)))

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.notes.append((cluster.now_s, f"{reached(task)}{_asked(task, cluster)}{reached(cluster)}"))
        return soonest_device(task, cluster)


@dataclass
class HoldingSpy(Spy):
    """The same for a strategy that holds: it commits one task a wake, the shortest first."""

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        told = "".join(f"{reached(task)}{_asked(task, cluster)}" for task in held)
        self.notes.append((cluster.now_s, f"{reached(held)}{told}{reached(cluster)}"))
        waiting = sorted(held, key=lambda task: (cluster.estimator.cpu_s(task), task.task_id))
        for task in waiting[: sum(cluster.idle)]:
            yield Commitment(task.task_id, soonest_device(task, cluster))


@dataclass
class RuleSpy(Spy):
    """The same for a strategy with a compiled form: a share for every task from all that its batch says."""

    def rule(self, batch: TaskBatch) -> BatchRule:
        columns = {name: getattr(batch, name) for name in TaskBatch.__dataclass_fields__}
        self.notes.append((0.0, reached(columns)))
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.linspace(0.0, 1.0, len(batch)).round())


@dataclass(frozen=True)
class Sample:
    """A file of one reader: how to write it with changed times, how to read it, and what else changes its times."""

    name: str
    write: Write
    options: dict[str, Any] = field(default_factory=lambda: {"arrival_scale": 1.0})
    gpu_type: str = ""
    changed: dict[str, Any] = field(default_factory=dict)


def _lines(name: str, changed: Callable[[int, str, Change], str]) -> Write:
    def write(folder: Path, change: Change) -> Path:
        lines = (DATA / name).read_text(encoding="utf-8").splitlines()
        place = folder / name
        place.write_text("\n".join(changed(row, line, change) for row, line in enumerate(lines)) + "\n")
        return place

    return write


def _cells(name: str, text: Callable[[], str], changed: Callable[[dict[str, str], float], None]) -> Write:
    def write(folder: Path, change: Change) -> Path:
        rows = list(csv.DictReader(io.StringIO(text())))
        for row, cells in enumerate(rows):
            changed(cells, change(row))
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return folder / name

    return write


def _times(columns: tuple[str, ...]) -> Callable[[dict[str, str], float], None]:
    def changed(cells: dict[str, str], factor: float) -> None:
        for name in columns:
            if cells[name]:
                cells[name] = repr(float(cells[name]) * factor)

    return changed


def _swf(row: int, line: str, change: Change) -> str:
    cells = line.split()
    if not cells or line.startswith(";") or float(cells[3]) <= 0.0:
        return line
    cells[3] = repr(float(cells[3]) * change(row))
    return " ".join(cells)


def _swf_without_requests(row: int, line: str, change: Change) -> str:
    cells = _swf(row, line, change).split()
    return " ".join([*cells[:8], "-1", *cells[9:]]) if cells and cells[0].isdigit() else line


def _gavel(folder: Path, change: Change) -> Path:
    def steps(row: int, line: str, change: Change) -> str:
        cells = line.split("\t")
        cells[4] = repr(float(cells[4]) * change(row))
        return "\t".join(cells)

    table = (DATA / "gavel_throughputs.json").read_text(encoding="utf-8")
    (folder / "simulation_throughputs.json").write_text(table, encoding="utf-8")
    return _lines("gavel.trace", steps)(folder, change)


def _workflow(folder: Path, change: Change) -> Path:
    document = json.loads((DATA / "workflow.json").read_text(encoding="utf-8"))
    for row, task in enumerate(document["workflow"]["execution"]["tasks"]):
        task["runtimeInSeconds"] *= change(row)
    (folder / "workflow.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "workflow.json"


def _philly(cells: dict[str, str], factor: float) -> None:
    cells["duration"] = repr(float(cells["duration"]) * factor)
    cells["gpu_time"] = repr(float(cells["duration"]) * int(cells["num_gpus"]))


def _azure(cells: dict[str, str], factor: float) -> None:
    cells["GeneratedTokens"] = str(round((1 + int(cells["GeneratedTokens"])) * 10 * factor))


def _pods(cells: dict[str, str], factor: float) -> None:
    if cells["scheduled_time"]:
        took = (float(cells["deletion_time"]) - float(cells["scheduled_time"])) * factor
        cells["deletion_time"] = repr(float(cells["scheduled_time"]) + took)


def _sample(name: str) -> Callable[[], str]:
    return lambda: (DATA / name).read_text(encoding="utf-8")


def _stream(header: str, row: Callable[[int, np.random.Generator], str], count: int = 40) -> Callable[[], str]:
    """A longer file: tasks of three kinds that come and go for a while."""

    def text() -> str:
        rng = np.random.default_rng(7)
        return "\n".join([header, *(row(place, rng) for place in range(count))])

    return text


def _own_row(place: int, rng: np.random.Generator) -> str:
    took = rng.lognormal(1.0, 1.0)
    times = f"{took},{took / 3}" if place % 2 else f",{took / 3}"
    return f"{place},{place * 1.5},{'abc'[place % 3]},{times}"


def _typed_row(place: int, rng: np.random.Generator) -> str:
    took = rng.lognormal(1.0, 1.0)
    return f"{place},{place * 1.5},{'abc'[place % 3]},{took},{took * 4 if place % 2 else ''}"


def _azure_row(place: int, rng: np.random.Generator) -> str:
    return f"2023-11-16 18:17:{place:02d}.0,{rng.integers(10, 4000)},{rng.integers(1, 400)}"


_TYPED = "task_id,arrival_time,kind,gpu_time.v100,gpu_time.k80"
_BOTH = ("gpu_time.v100", "gpu_time.k80")
SAMPLES = (
    Sample("swf", _lines("jobs.swf", _swf)),
    Sample("swf without requests", _lines("jobs.swf", _swf_without_requests)),
    Sample("wfformat", _workflow, {}),
    Sample("philly", _cells("philly.csv", _sample("philly.csv"), _philly)),
    Sample("azure_llm", _cells("azure_llm.csv", _sample("azure_llm.csv"), _azure)),
    Sample(
        "azure_llm, longer", _cells("code.csv", _stream("TIMESTAMP,ContextTokens,GeneratedTokens", _azure_row), _azure)
    ),
    Sample("openb", _cells("openb_pods.csv", _sample("openb_pods.csv"), _pods)),
    Sample(
        "openb_requests",
        _lines("openb_requests.csv", lambda row, line, change: line),
        {"arrival_scale": 1.0, "lifetime_median_s": 100.0},
        changed={"lifetime_median_s": 300.0},
    ),
    Sample("gavel", _gavel, gpu_type="v100"),
    Sample("gavel on another type", _gavel, gpu_type="h200"),
    Sample("own", _cells("own.csv", _sample("own.csv"), _times(("cpu_time", "gpu_time")))),
    Sample(
        "own, longer",
        _cells(
            "mine.csv",
            _stream("task_id,arrival_time,kind,cpu_time,gpu_time", _own_row),
            _times(("cpu_time", "gpu_time")),
        ),
    ),
    Sample("typed", _cells("typed.csv", _stream(_TYPED, _typed_row), _times(_BOTH)), gpu_type="v100"),
    Sample("typed on another type", _cells("typed.csv", _stream(_TYPED, _typed_row), _times(_BOTH)), gpu_type="h200"),
    Sample(
        "typed with sizes and noise",
        _cells(
            "typed.csv",
            _stream(
                f"{_TYPED},size,compute_intensity,memory_required,duration_factor",
                lambda place, rng: f"{_typed_row(place, rng)},{100 + place},0.5,40,1.5",
            ),
            _times((*_BOTH, "duration_factor")),
        ),
        gpu_type="k80",
    ),
    Sample(
        "mapped",
        _cells(
            "jobs.csv",
            _stream("when,user,run", lambda place, rng: f"{place * 2},u{place % 3},{rng.lognormal(1.0, 1.0)}"),
            _times(("run",)),
        ),
        {"map": {"arrival_time": "when", "kind": "user", "duration": "run"}},
    ),
)
