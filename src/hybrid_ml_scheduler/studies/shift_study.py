"""The shift experiment in a results folder: seed by seed and resumable."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import file_input, file_tasks
from hybrid_ml_scheduler.plans.inputs import program_inputs, run_facts
from hybrid_ml_scheduler.plans.node_plan import node_to_mapping
from hybrid_ml_scheduler.studies.comparison import (
    Step,
    forget_trials,
    records_of,
)
from hybrid_ml_scheduler.studies.engines import Engine
from hybrid_ml_scheduler.studies.folder import ResultsFolder, plan_digest
from hybrid_ml_scheduler.studies.shift import (
    AGENT_OPTIONS,
    STRATEGIES,
    ShiftBudget,
    ShiftRun,
    meet_shift,
    shift_result,
)
from hybrid_ml_scheduler.studies.shift_tables import shift_tables
from hybrid_ml_scheduler.studies.trials import Record

__all__ = ["KIND", "ShiftStudy", "simulate_shift"]

KIND = "shift"
_LEARNING = {"hybrid_ml_share": "frozen", "hybrid_ml": "online", "rl_agent": "online"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftStudy:
    """Which seeds meet the shift, and how much is learned before it."""

    seed: int = 0
    seeds: int = 10
    budget: ShiftBudget = field(default_factory=ShiftBudget)
    node: Node = field(default_factory=Node)

    def to_mapping(self) -> dict[str, Any]:
        """Everything that determines the results."""
        # What is as usual is left out, so that a folder of before can be continued.
        shift = {key: value for key, value in asdict(self.budget).items() if key != "file" or value}
        agent = {key: value for key, value in AGENT_OPTIONS.items() if value is not None}
        return {
            "simulation": {"num_gpus": self.node.num_gpus, "seed": self.seed, "seeds": self.seeds},
            "shift": shift,
            "physics": node_to_mapping(self.node),
            "schedulers": {
                "race": list(STRATEGIES),
                "rl_agent": agent,
                "hybrid_ml_share": {"online": False},
            },
        }

    def inputs(self) -> dict[str, str]:
        """What the results depend on beside the plan; no shipped weights, since both learners begin from nothing."""
        return {**program_inputs(()), **(file_input(self.budget.file) if self.budget.file else {})}

    def assumptions(self) -> list[str]:
        """How training and test lie apart in a file, and what was assumed of it; nothing of presets."""
        if not self.budget.file:
            return []
        source = file_tasks(self.budget.file, self.node)
        return [source.sentence, *source.assumptions]


def simulate_shift(folder: ResultsFolder, study: ShiftStudy, engine: Engine, step: Step) -> None:
    """Meet the shift with every seed that is not there yet, then build and store the tables."""
    with folder.phase("simulate"):
        seeds = range(study.seed, study.seed + study.seeds)
        jobs = {f"{KIND}-{seed}": (study.node, study.budget, seed) for seed in seeds}
        runs = [_run_of(record) for record in records_of(folder, jobs, _shift_trial, engine, step)]
        for name, frame in shift_tables(runs).items():
            folder.write_table(name, frame)
        folder.write_json("shift.json", shift_result(runs))
        folder.write_json("run.json", _run_facts(study, len(runs[0].exploring)))
    forget_trials(folder)


def _run_facts(study: ShiftStudy, tasks: int) -> dict[str, Any]:
    plan = study.to_mapping()
    return run_facts(
        KIND,
        plan,
        plan_digest(KIND, plan)[:16],
        tasks=tasks,
        seeds=study.seeds,
        assumptions=study.assumptions(),
        schedulers={name: _LEARNING.get(name, "none") for name in STRATEGIES},
        hardware="default physics",
    )


def _shift_trial(job: tuple[Node, ShiftBudget, int]) -> Record:
    """One seed as a job whose result can be stored."""
    run = meet_shift(job)
    columns = {f"execution_s:{name}": column for name, column in run.execution_s.items()}
    columns |= {f"gpu_fraction:{name}": column for name, column in run.gpu_fraction.items()}
    return Record(
        name=KIND,
        seed=run.seed,
        figures={"makespan_s": dict(run.makespan_s)},
        columns={**columns, "best_s": run.best_s, "exploring": run.exploring.astype(np.float64)},
    )


def _run_of(record: Record) -> ShiftRun:
    def columns(kind: str) -> dict[str, Any]:
        return {key.partition(":")[2]: data for key, data in record.columns.items() if key.startswith(f"{kind}:")}

    return ShiftRun(
        seed=record.seed,
        execution_s=columns("execution_s"),
        gpu_fraction=columns("gpu_fraction"),
        makespan_s=record.figures["makespan_s"],
        best_s=record.columns["best_s"],
        exploring=record.columns["exploring"] > 0.5,
    )
