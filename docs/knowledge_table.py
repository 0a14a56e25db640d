"""Race Hybrid ML against the simple rules over a folder of public traces, learning and told, into docs/traces.md.

    python docs/knowledge_table.py path/to/traces

The ratios are of mean latency, the best simple rule is the one with the lowest mean at the same level, and the interval
is of the paired difference over seeds. What was known of a task beforehand is printed under the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docs.traces_table import FILES, PAGE
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
from hybrid_ml_scheduler.plans.intervals import Interval, bounded_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import plan_from_mapping
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.engines import Failure, LocalEngine
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.race import run_known

BEGIN, END = "<!-- knowledge: begin -->", "<!-- knowledge: end -->"
RULES = ("earliest_finish", "earliest_device", "frugal_finish", "gpu_only")
LEVELS: tuple[Level, ...] = (LEARNED, EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One trace at one level on several seeds."""

    file: Path
    level: Level
    tasks: int
    seeds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The best simple rule of a cell, Hybrid ML's latency over its, and what was known beforehand."""

    best: str
    ratio: Interval
    known: str


def standing_of(cell: Cell) -> Standing:
    """Race all rules and Hybrid ML on every seed of a cell."""
    plan = plan_from_mapping({"workload": {"file": str(cell.file), "num_tasks": cell.tasks}})
    means, known = [], ""
    for seed in range(cell.seeds):
        batch = plan.tasks(seed)
        tasks = KnownTasks(batch=batch, node=plan.node, truth=plan.hidden, seed=seed)
        known = tasks.notes[-1] if tasks.notes else ""
        runs = [run_known(create(name), tasks, cell.level) for name in (*RULES, "hybrid_ml")]
        means.append([float(np.nanmean(run.finish_s - batch.arrival_time)) for run in runs])
    found = np.array(means)
    best = int(found[:, : len(RULES)].mean(axis=0).argmin())
    scale = float(found[:, best].mean())
    return Standing(
        best=RULES[best], ratio=bounded_interval(1.0 + (found[:, -1] - found[:, best]) / scale), known=known
    )


def lines_of(files: list[Path], found: dict[tuple[str, Level], Standing]) -> Iterator[str]:
    """The table, and under it what was known beforehand."""
    yield "| trace | best simple rule at `learned` | `hybrid_ml` ÷ it | best at `exact` | `hybrid_ml` ÷ it |"
    yield "|---|---|---|---|---|"
    for file in files:
        cells = []
        for level in LEVELS:
            one = found[file.name, level]
            cells += [f"`{one.best}`", f"{one.ratio.mean:.3f} [{one.ratio.low:.3f}, {one.ratio.high:.3f}]"]
        yield f"| {file.name} | {' | '.join(cells)} |"
    yield ""
    notes = {file.name: found[file.name, LEARNED].known for file in files}
    for note in dict.fromkeys(notes.values()):
        yield f"- {note} ({', '.join(name for name, own in notes.items() if own == note)})"


def main() -> None:
    """Race all cells and rewrite the part of the page about knowledge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=None)
    flags = parser.parse_args()
    files = [flags.traces / name for name in FILES]
    cells = [Cell(file=file, level=level, tasks=flags.tasks, seeds=flags.seeds) for file in files for level in LEVELS]
    found: dict[tuple[str, Level], Standing] = {}
    for index, outcome in LocalEngine(flags.workers).results(standing_of, cells):
        if isinstance(outcome, Failure):
            raise HmsError(f"{cells[index].file.name}: {outcome.reason}")
        found[cells[index].file.name, cells[index].level] = outcome
        print(cells[index].file.name, cells[index].level, outcome.best, outcome.ratio.mean, file=sys.stderr)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    text = "\n".join(lines_of(files, found))
    write_whole(PAGE, f"{before}{BEGIN}\n\n{text}\n\n{END}{after}".encode())


if __name__ == "__main__":
    main()
