"""`hms knowledge`: what not knowing costs, as tables of a results folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import file_input, file_tasks
from hybrid_ml_scheduler.plans.inputs import hardware_words, program_inputs, run_facts
from hybrid_ml_scheduler.plans.intervals import bounded_interval, t_interval
from hybrid_ml_scheduler.plans.node_plan import node_to_mapping
from hybrid_ml_scheduler.studies.comparison import Step, silent
from hybrid_ml_scheduler.studies.engines import Engine, Failure
from hybrid_ml_scheduler.studies.folder import ResultsFolder, plan_digest
from hybrid_ml_scheduler.studies.knowledge import STRATEGIES, KnowledgeCell, KnowledgeStudy, knowledge_cell

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KIND", "KnowledgeTrial", "PriceStudy", "knowledge_rows", "simulate_knowledge"]

KIND = "knowledge"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceStudy:
    """What is asked: strategies at all levels of knowledge, over loads and seeds."""

    tasks: int = 5000
    seed: int = 0
    seeds: int = 5
    loads: tuple[float, ...] = (0.5, 0.8, 0.95)
    strategies: tuple[str, ...] = STRATEGIES
    kind_spread: float = 0.5
    workload: str = "unknown"
    file: str = ""
    node: Node = field(default_factory=Node)

    def trials(self) -> list[KnowledgeTrial]:
        """One piece of work for every load and seed."""
        study = KnowledgeStudy(
            tasks=self.tasks,
            strategies=self.strategies,
            kind_spread=self.kind_spread,
            workload=self.workload,
            file=self.file,
            node=self.node,
        )
        seeds = range(self.seed, self.seed + self.seeds)
        return [KnowledgeTrial(study=study, load=load, seed=seed) for load in self.loads for seed in seeds]

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as they are stored with the results."""
        usual = PriceStudy()
        plan = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((item.name, getattr(self, item.name)) for item in fields(self) if item.name != "node")
            # What is as usual is left out, so that a folder of before can be continued.
            if name not in ("workload", "file") or value != getattr(usual, name)
        }
        return plan if self.node == usual.node else {**plan, "physics": node_to_mapping(self.node)}

    def tasks_of_a_run(self) -> int:
        """How many tasks each run has: those asked for, or all of a shorter file's later part."""
        return len(file_tasks(self.file, self.node).tasks(self.seed, self.tasks)) if self.file else self.tasks

    @property
    def source(self) -> str:
        """The preset or the file, as people call it."""
        return Path(json.loads(self.file)["file"]).name if self.file else f"preset {self.workload}"

    def assumptions(self) -> list[str]:
        """What the results rest on."""
        load = "load: tasks a second over what the node could sustain of these very tasks in truth."
        warm_up = "warm_up: the first tenth of the tasks is in no mean."
        if self.file:
            source = file_tasks(self.file, self.node)
            part = "later_part: strategies meet the last 40% of the file's tasks in order of arrival."
            return [part, *source.assumptions, load, warm_up]
        hidden = (
            f"hidden_truth: true seconds are the formula's times a factor of kind and device type, log-normal with "
            f"mean 1 and spread {self.kind_spread:g}, times a noise of each task (preset {self.workload})."
        )
        return [hidden, load, warm_up]

    def inputs(self) -> dict[str, str]:
        """What the results depend on beside the plan."""
        return {**program_inputs(self.strategies), **(file_input(self.file) if self.file else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeTrial:
    """All strategies at all levels on the tasks of one seed at one load."""

    study: KnowledgeStudy
    load: float
    seed: int


def _cells_of(trial: KnowledgeTrial) -> list[KnowledgeCell]:
    return knowledge_cell(trial.study, trial.load, trial.seed)


def simulate_knowledge(folder: ResultsFolder, study: PriceStudy, engine: Engine, step: Step = silent) -> None:
    """Run every load and seed, and store the tables: one row a run, means with intervals, prices with intervals."""
    import pandas as pd

    with folder.phase("simulate"):
        trials = study.trials()
        found: dict[int, list[KnowledgeCell]] = {}
        for index, outcome in engine.results(_cells_of, trials):
            label = f"load {trials[index].load:g}, seed {trials[index].seed}"
            if isinstance(outcome, Failure):
                raise HmsError(f"{label}: {outcome.reason}")
            found[index] = outcome
            step(label)
        cells = pd.DataFrame([cell._asdict() for index in sorted(found) for cell in found[index]])
        folder.write_table("runs", cells)
        folder.write_table("levels", _means(cells, study))
        folder.write_table("prices", _prices(cells, study))
        folder.write_json("run.json", _facts(study, study.tasks_of_a_run()))


def _means(cells: pd.DataFrame, study: PriceStudy) -> pd.DataFrame:
    """Mean latency of every strategy at every level and load, with its interval over seeds."""
    import pandas as pd

    rows = []
    for (load, name, level), own in cells.groupby(["load", "strategy", "level"], sort=False):
        interval = bounded_interval(own["mean_latency_s"].to_numpy())
        rows.append({"load": load, "scheduler": name, "level": level, **_ends(interval)})
    return pd.DataFrame(rows)


def _prices(cells: pd.DataFrame, study: PriceStudy) -> pd.DataFrame:
    """Seed by seed: latency over that of the same strategy told the truth, and over the best rule told the truth."""
    import pandas as pd

    wide = cells.pivot(index=["load", "seed"], columns=["strategy", "level"], values="mean_latency_s")
    rows = []
    for load in study.loads:
        own = wide.loc[load]
        for name in study.strategies:
            for level in ("nominal", "learned"):
                ratio = (own[(name, level)] / own[(name, EXACT)]).to_numpy()
                rows.append({"load": load, "scheduler": name, "level": level, **_ends(t_interval(np.log(ratio)), True)})
    return pd.DataFrame(rows)


def _ends(interval: Any, is_log: bool = False) -> dict[str, float]:
    values = (interval.mean, interval.low, interval.high)
    mean, low, high = (float(np.exp(value)) if is_log else float(value) for value in values)
    return {"mean": mean, "low": low, "high": high}


def _facts(study: PriceStudy, tasks: int) -> dict[str, Any]:
    plan = study.to_mapping()
    return run_facts(
        KIND,
        plan,
        plan_digest(KIND, plan)[:16],
        tasks=tasks,
        seeds=study.seeds,
        schedulers=dict.fromkeys(study.strategies, "none"),
        source=study.source,
        assumptions=study.assumptions(),
        hardware=hardware_words(study.node),
    )


def _known_ends(row: Mapping[Any, Any]) -> list[float] | None:
    """The interval of a mean; None of one seed, which has none."""
    return None if math.isnan(row["low"]) else [row["low"], row["high"]]


def knowledge_rows(levels: pd.DataFrame, prices: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
    """One row for each load and strategy: latency at every level, and what not knowing costs, for tables and JSON."""
    for (load, name), own in levels.groupby(["load", "scheduler"], sort=False):
        row: dict[str, Any] = {"load": float(str(load)), "scheduler": str(name)}
        for one in own.to_dict("records"):
            row[f"{one['level']}_s"], row[f"{one['level']}_s_ci"] = one["mean"], _known_ends(one)
        for one in prices[(prices["load"] == load) & (prices["scheduler"] == name)].to_dict("records"):
            row[f"{one['level']}_price"], row[f"{one['level']}_price_ci"] = one["mean"], _known_ends(one)
        yield row
