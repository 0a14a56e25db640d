"""Training `rl_hold` from nothing: many small workloads, each played under every setting, and weights fitted to that.

Workloads are drawn from all presets, loads from nearly idle to overfull, nodes of one to eight GPUs, and durations that
are known exactly or with errors; seeds are training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.plans.loads import at_load
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel, expanded, hold_features
from hybrid_ml_scheduler.schedulers.holding.settings import PLAIN, SETTINGS, History, Setting, replayed_values
from hybrid_ml_scheduler.training.training_log import TrainingLog
from hybrid_ml_scheduler.workload import PRESETS, WorkloadParameters, preset

__all__ = ["PATIENCE", "HoldBudget", "stream_history", "train_hold"]

PATIENCE = 100.0
_HOPELESS = math.log(3.0)  # what a setting counts whose replay was given up
_RIDGE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldBudget:
    """How much is played: workloads, tasks of each, and the first training seed."""

    workloads: int = 120
    tasks: int = 2500
    seed: int = 7_000_000

    def scaled(self, effort: float, seed: int | None = None) -> HoldBudget:
        """A share of the workloads, at least eight."""
        count = max(8, round(self.workloads * effort))
        return HoldBudget(workloads=count, tasks=self.tasks, seed=self.seed if seed is None else seed)

    def record(self) -> dict[str, float]:
        """The budget as it is written down."""
        return {"workloads": self.workloads, "tasks": self.tasks, "seed": self.seed}


def stream_history(
    law: WorkloadParameters, node: Node, load: float, seed: int, count: int, error: float = 0.0
) -> History:
    """A stream as `rl_hold` would remember it; its durations known with a log-normal error."""
    loaded = at_load(law, node, load, seed, count)
    terms = PhysicsEstimator(node).batch_terms(loaded.batch)
    if error > 0.0:
        factors = np.exp(error * stream(seed, "hold_training", "error").standard_normal(len(loaded.batch)))
        terms = terms._replace(cpu_s=terms.cpu_s * factors, gpu_s=terms.gpu_s * factors[:, None])
    size_s = fastest_seconds(terms.cpu_s, terms.gpu_s, True)
    return History(loaded.batch.arrival_time, loaded.batch.arrival_time + PATIENCE * size_s, size_s, terms)


def train_hold(
    budget: HoldBudget,
    log: TrainingLog,
    *,
    laws: Sequence[WorkloadParameters] = (),
    node: Node | None = None,
    settings: tuple[Setting, ...] = SETTINGS,
) -> HoldModel:
    """Play every workload under every setting, and fit by ridge regression how much worse each is than the best."""
    rng = stream(budget.seed, "hold_training")
    drawn = tuple(laws) or tuple(preset(name) for name in PRESETS)
    features, losses = [], []
    for place in range(budget.workloads):
        law = drawn[int(rng.integers(len(drawn)))]
        where = node or Node.uniform(int(rng.choice([1, 2, 3, 4, 4, 4, 6, 8])))
        load, error = float(rng.uniform(0.2, 1.05)), float(rng.choice([0.0, 0.0, 0.3]))
        history = stream_history(law, where, load, budget.seed + place, budget.tasks, error)
        values = np.log(replayed_values(history, settings, "latency", np.zeros(where.num_gpus + 1)))
        features.append(hold_features(history))
        losses.append(np.minimum(values - values.min(), _HOPELESS))
        log.stage("playing workloads under every setting", place + 1, budget.workloads)
        log.point("loss_of_shortest_first", place, float(losses[-1][: len(PLAIN)].min()))
    return _fitted(np.array(features), np.array(losses), settings, budget)


def _fitted(features: FloatColumn, losses: FloatColumn, settings: tuple[Setting, ...], budget: HoldBudget) -> HoldModel:
    centre, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-6)
    design = np.array([expanded((row - centre) / scale) for row in features])
    gram = design.T @ design + _RIDGE * np.eye(design.shape[1])
    weights = np.linalg.solve(gram, design.T @ losses).T
    rounded = [np.round(column, 6) for column in (weights, centre, scale)]
    return HoldModel(
        settings=settings,
        weights=rounded[0],
        centre=rounded[1],
        scale=np.maximum(rounded[2], 1e-6),
        patience=PATIENCE,
        record=budget.record(),
    )
