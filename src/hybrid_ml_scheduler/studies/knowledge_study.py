"""`hms knowledge`: what not knowing costs, as tables of a results folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.inputs import hardware_words, run_facts
from hybrid_ml_scheduler.plans.intervals import bounded_interval, t_interval
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

    def trials(self) -> list[KnowledgeTrial]:
        """One piece of work for every load and seed."""
        study = KnowledgeStudy(tasks=self.tasks, strategies=self.strategies, kind_spread=self.kind_spread)
        seeds = range(self.seed, self.seed + self.seeds)
        return [KnowledgeTrial(study=study, load=load, seed=seed) for load in self.loads for seed in seeds]

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as they are stored with the results."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


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
        folder.write_json("run.json", _facts(study))


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


def _facts(study: PriceStudy) -> dict[str, Any]:
    plan = study.to_mapping()
    return run_facts(
        KIND,
        plan,
        plan_digest(KIND, plan)[:16],
        tasks=study.tasks,
        seeds=study.seeds,
        schedulers=dict.fromkeys(study.strategies, "none"),
        assumptions=[
            f"hidden_truth: true seconds are the formula's times a factor of kind and device type, log-normal with "
            f"mean 1 and spread {study.kind_spread:g}, times a noise of each task (preset unknown).",
            "load: tasks a second over what the node could sustain of these very tasks in truth.",
            "warm_up: the first tenth of the tasks is in no mean.",
        ],
        hardware=hardware_words(Node()),
    )


def knowledge_rows(levels: pd.DataFrame, prices: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
    """One row for each load and strategy: latency at every level, and what not knowing costs, for tables and JSON."""
    for (load, name), own in levels.groupby(["load", "scheduler"], sort=False):
        row: dict[str, Any] = {"load": float(str(load)), "scheduler": str(name)}
        for one in own.to_dict("records"):
            row[f"{one['level']}_s"], row[f"{one['level']}_s_ci"] = one["mean"], [one["low"], one["high"]]
        for one in prices[(prices["load"] == load) & (prices["scheduler"] == name)].to_dict("records"):
            row[f"{one['level']}_price"], row[f"{one['level']}_price_ci"] = one["mean"], [one["low"], one["high"]]
        yield row
