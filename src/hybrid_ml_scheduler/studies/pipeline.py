"""The phases of the pipeline that compute something: profile → data → forest → agent → evaluate.

The agent is pre-trained on a teacher's decisions, from nothing unless the plan names a model to begin with.
Learners are trained on tasks that the evaluation never sees, saved, and then judged frozen: other seeds of a preset,
an earlier part of a file. Where a file cannot be cut, tables and report say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core import TaskBatch, stream
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import durations
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.plans.training_and_test import TRAINING_SEEDS_FROM, Separation, separation
from hybrid_ml_scheduler.studies.comparison import simulate
from hybrid_ml_scheduler.studies.engines import Engine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.race import entrants

__all__ = ["AGENT_FILE", "TRAINING_SEEDS_FROM", "WORK", "Pipeline"]

FOREST_FILE, AGENT_FILE, PROFILE_FILE = "models/forest.joblib", "models/agent.pth", "profile.json"
_HELD_OUT = 5
_FOREST, _AGENT, _CHECK = range(3)  # the forest's tasks, the agent's, and those on which the agent is judged
_PURPOSES = 3

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """What a pipeline does: the plan to evaluate, and how much to train on."""

    plan: Plan
    training_tasks: int = 3_000
    agent_tasks: int = 3_000
    engine: Engine | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, least in (("training_tasks", 50), ("agent_tasks", 100)):
            if getattr(self, name) < least:
                raise PlanError(f"{name} = {getattr(self, name)} must be at least {least}.")
        if self.plan.seed + self.plan.seeds > TRAINING_SEEDS_FROM:
            raise PlanError(f"simulation.seed must stay below {TRAINING_SEEDS_FROM:,}: from there on seeds train.")

    def to_mapping(self) -> dict[str, Any]:
        """Everything that determines the results."""
        training = {"training_tasks": self.training_tasks, "agent_tasks": self.agent_tasks}
        return {**self.plan.to_mapping(), "training": training}

    def separation(self) -> Separation:
        """How the tasks that train and those that test lie apart."""
        return separation(self.plan.workload, self.plan.node)

    def tasks_for(self, purpose: int, count: int) -> TaskBatch:
        """Training tasks for one purpose, from seeds of their own and, of a file, from its earlier part."""
        apart, seed = self.separation(), TRAINING_SEEDS_FROM + _PURPOSES * self.plan.seed + purpose
        if purpose == _CHECK:
            return apart.check_tasks(seed, count, self.plan.node)
        return apart.training_tasks(seed, count, self.plan.node)


def _profile(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    from hybrid_ml_scheduler.hardware import measure, to_mapping

    with folder.phase("profile"):
        folder.write_json(PROFILE_FILE, to_mapping(measure(quick=True)))


def _data(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    """Training tasks with the best share and the time it takes."""
    import pandas as pd

    from hybrid_ml_scheduler.physics import best_execution_s
    from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions

    batch = pipeline.tasks_for(_FOREST, pipeline.training_tasks)
    node = pipeline.plan.node
    columns: dict[str, Any] = {name: getattr(batch, name) for name in _TASK_COLUMNS}
    columns["optimal_gpu_fraction"] = best_fractions(batch, node)
    columns["optimal_time"] = best_execution_s(batch, node, durations(batch, node))
    with folder.phase("data"):
        folder.write_table("training", pd.DataFrame(columns))


_TASK_COLUMNS = ("task_id", "size", "compute_intensity", "memory_required")


def _forest(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    """Fit on four fifths, judge on the rest, then keep the forest of all."""
    import numpy as np
    import pandas as pd

    from hybrid_ml_scheduler.learning import feature_matrix, fit_forest, save_forest

    table = folder.read_table("training")
    features = feature_matrix(*(table[name].to_numpy(dtype=float) for name in _TASK_COLUMNS[1:]))
    labels = table["optimal_gpu_fraction"].to_numpy(dtype=float)
    apart = pipeline.separation()
    rows = np.arange(len(labels))
    # Neighbours in a trace are alike, so its latest tasks are held out; drawn tasks may be held out in turn.
    held = rows >= len(rows) - len(rows) // _HELD_OUT if apart.by_time else rows % _HELD_OUT == 0
    judged = fit_forest(features[~held], labels[~held], stream(pipeline.plan.seed, "pipeline", "forest", "judged"))
    error = np.abs(judged.predict(features[held]) - labels[held])
    model = fit_forest(features, labels, stream(pipeline.plan.seed, "pipeline", "forest"))
    guess = np.abs(labels[held] - labels[~held].mean())
    row = {
        "samples": len(labels),
        "held_out": int(held.sum()),
        "mean_error": error.mean(),
        "p95_error": np.quantile(error, 0.95),
        "mean_error_of_the_mean": guess.mean(),
        "separation": apart.sentence,
    }
    with folder.phase("forest"):
        save_forest(model, _model_place(folder, FOREST_FILE), {"seed": pipeline.plan.seed})
        folder.adopt(FOREST_FILE)
        folder.write_table("forest", pd.DataFrame([row]))


def _agent(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    """Pre-train the agent on what a teacher did on training tasks, and judge it on others."""
    import pandas as pd

    from hybrid_ml_scheduler.studies.pretraining import judge_pretrained, pretrain_agent

    node, options = pipeline.plan.node, pipeline.plan.options.get("rl_agent", {})
    seed, place = TRAINING_SEEDS_FROM + pipeline.plan.seed, _model_place(folder, AGENT_FILE)
    agent, taught = pretrain_agent(options, pipeline.tasks_for(_AGENT, pipeline.agent_tasks), node, seed)
    with folder.phase("agent"):
        agent.save_model(place)
        folder.adopt(AGENT_FILE)
        judged = judge_pretrained(options, place, pipeline.tasks_for(_CHECK, pipeline.agent_tasks), node, seed)
        judged["judged_on"] = pipeline.separation().judged_on
        folder.write_table("agent", pd.DataFrame([{**taught, **judged}]))


def _model_place(folder: ResultsFolder, name: str) -> Path:
    place = folder.path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def evaluated_plan(pipeline: Pipeline, folder: ResultsFolder) -> Plan:
    """The plan with both learners frozen as they were saved, on the tasks that are left for the test."""
    options: dict[str, Mapping[str, Any]] = dict(pipeline.plan.options)
    forest = {"model": str(folder.path / FOREST_FILE), "online": False}
    frozen = {
        "hybrid_ml_share": forest,
        "rl_agent": {"model": str(folder.path / AGENT_FILE), "online": False},
    }
    if options.get("hybrid_ml", {}).get("mode") == "share":  # another name of the classic forest
        frozen["hybrid_ml"] = forest
    for name, values in frozen.items():
        if name in pipeline.plan.schedulers:
            options[name] = {**options.get(name, {}), **values}
    return replace(pipeline.plan, options=options, workload=pipeline.separation().test)


def _evaluate(pipeline: Pipeline, folder: ResultsFolder, step: Step) -> None:
    plan = evaluated_plan(pipeline, folder)
    strategies = entrants(plan)
    notes = () if plan.workload.is_preset else (pipeline.separation().sentence,)
    simulate(folder, plan, strategies, report_name="report.csv", engine=pipeline.engine, step=step, notes=notes)


WORK: dict[str, Callable[[Pipeline, ResultsFolder, Step], None]] = {
    "profile": _profile,
    "data": _data,
    "forest": _forest,
    "agent": _agent,
    "evaluate": _evaluate,
}
