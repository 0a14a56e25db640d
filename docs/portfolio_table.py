"""Race the portfolio over all presets and a folder of public traces, told and learning, into docs/traces.md.

    PYTHONPATH=. python docs/portfolio_table.py path/to/traces

Three loads, `exact` and `learned` knowledge, several seeds, proven floors. An interrupted run goes on where it stopped;
`--quick` shows that everything runs and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docs.traces_table import FILES, PAGE
from hybrid_ml_scheduler.cluster import certificate
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import LEVELS
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, known_at_load
from hybrid_ml_scheduler.plans.metrics import figure
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.engines import Failure, LocalEngine
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.race import run_known
from hybrid_ml_scheduler.workload import PRESETS, load, preset

BEGIN, END = "<!-- portfolio: begin -->", "<!-- portfolio: end -->"
RULES = ("earliest_finish", "frugal_finish", "sjf", "c_mu", "hetero_prio", "rank_hold")
LEARNED = ("rl_split", "rl_hold", "hybrid_ml")
LOADS = (0.5, 0.8, 0.95)
SHOWN = (LEVELS[0], LEVELS[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One workload at one load (0: a workflow, which is there at once) and one level of knowledge."""

    source: str
    load: float
    level: str
    tasks: int
    seeds: int

    @property
    def key(self) -> str:
        """Its name in the file of what is done."""
        return json.dumps(asdict(self), sort_keys=True)


def known_tasks(cell: Cell, seed: int) -> KnownTasks:
    """The tasks of a cell with their truth."""
    if cell.source in PRESETS:
        law = preset(cell.source).with_values({"num_tasks": cell.tasks})
        return known_at_load(law, Node(), cell.load, seed, truth=usual_truth(cell.source))
    options = {"target_load": cell.load} if cell.load else {"divisible": 1}
    batch = load(Path(cell.source), seed=seed, limit=cell.tasks if cell.load else None, options=options)
    return KnownTasks(batch=batch, node=Node(), truth=usual_truth(cell.source), seed=seed)


def measured(cell: Cell) -> dict[str, Any]:
    """By strategy one value a seed (mean latency, of a workflow the makespan), and the proven floor of each seed."""
    values: dict[str, list[float]] = {name: [] for name in (*RULES, *LEARNED)}
    floors = []
    for seed in range(cell.seeds):
        known = known_tasks(cell, seed)
        arrival = known.batch.arrival_time
        exact = known.facts_for(LEVELS[0])
        bound = certificate(exact.batch, known.node, exact.seconds)
        floors.append(bound.mean_latency_s if cell.load else bound.makespan_s)
        for name, column in values.items():
            finish = run_known(create(name), known, cell.level).finish_s  # type: ignore[arg-type]
            column.append(float(np.nanmean(finish - arrival) if cell.load else np.nanmax(finish) - arrival[0]))
    return {"values": values, "floors": floors}


def cells_of(traces: Path, tasks: int, seeds: int) -> list[Cell]:
    """Presets and traces at three loads, workflows as they are, each at both levels."""
    streams = [*PRESETS, *(str(traces / name) for name in FILES if not name.startswith("wf"))]
    graphs = [str(traces / name) for name in FILES if name.startswith("wf")]
    places = [(source, place) for source in streams for place in LOADS] + [(source, 0.0) for source in graphs]
    return [
        Cell(source=source, load=place, level=level, tasks=tasks, seeds=seeds)
        for level in SHOWN
        for source, place in places
    ]


def row_of(cell: Cell, found: dict[str, Any]) -> str:
    """Floor, the best rule with its interval, and every strategy over it; of `rl_hold` also the interval."""
    values = {name: np.array(column) for name, column in found["values"].items()}
    best = min(RULES, key=lambda name: float(values[name].mean()))
    spread = bounded_interval(values[best])
    shown = f"{figure(spread.mean)} [{figure(spread.low)}, {figure(spread.high)}]"
    ratios = [f"{float(values[name].mean() / values[best].mean()):.3g}" for name in ("earliest_finish", "rl_split")]
    ours = bounded_interval(values["rl_hold"] / values[best])
    forest = float(values["hybrid_ml"].mean() / values[best].mean())
    name = Path(cell.source).name.removesuffix(".gz")
    place = f"{cell.load:.0%}" if cell.load else "graph"
    return (
        f"| {name} | {place} | {figure(float(np.mean(found['floors'])))} | `{best}` {shown} | {' | '.join(ratios)} "
        f"| {ours.mean:.3g} [{ours.low:.3g}, {ours.high:.3g}] | {forest:.3g} |"
    )


def lines_of(cells: Sequence[Cell], done: dict[str, Any]) -> Iterator[str]:
    """One table a level."""
    for level in SHOWN:
        yield f"### At `{level}`"
        yield ""
        yield (
            "| tasks | load | proven floor s | best rule, s | `earliest_finish` ÷ it | `rl_split` ÷ it "
            "| `rl_hold` ÷ it | `hybrid_ml` ÷ it |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        yield from (row_of(cell, done[cell.key]) for cell in cells if cell.level == level)
        yield ""


def main() -> None:
    """Measure what is not done yet, and rewrite the portfolio's part of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results/portfolio_table.json"), help="What is done by now.")
    parser.add_argument("--quick", action="store_true", help="One preset and one trace, printed only.")
    flags = parser.parse_args()
    cells = cells_of(flags.traces, 60 if flags.quick else flags.tasks, 2 if flags.quick else flags.seeds)
    if flags.quick:
        few = ("mixed", str(flags.traces / FILES[4]))
        cells = [cell for cell in cells if cell.source in few and cell.load == LOADS[1]]
    done = measure(cells, None if flags.quick else flags.out, flags.workers)
    text = "\n".join(lines_of(cells, done))
    if flags.quick:
        print(text)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    write_whole(PAGE, f"{before}{BEGIN}\n\n{text}\n{END}{after}".encode())


def measure(cells: Sequence[Cell], place: Path | None, workers: int | None) -> dict[str, Any]:
    """What every cell came to; each is written down as soon as it is known."""
    done: dict[str, Any] = {}
    if place is not None and place.is_file():
        done = json.loads(place.read_text(encoding="utf-8"))
    left = [cell for cell in cells if cell.key not in done]
    for index, outcome in LocalEngine(workers).results(measured, left):
        if isinstance(outcome, Failure):
            raise HmsError(f"{left[index].source}: {outcome.reason}")
        done[left[index].key] = outcome
        print(f"{len(done)} of {len(cells)}: {Path(left[index].source).name} {left[index].load:g}", file=sys.stderr)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, json.dumps(done).encode())
    return done


if __name__ == "__main__":
    main()
