"""Training `rl_hold` from nothing: many small workloads, each played under every setting, and weights fitted to that.

Workloads are drawn from all presets, cut and whole, and from laws that no preset has; loads from nearly idle to
overfull, nodes of one to eight GPUs, durations that are known exactly or with errors, streams long and short. Seeds are
training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.held_choices import possible_seconds
from hybrid_ml_scheduler.physics.node import CPU_ONLY, WHOLE
from hybrid_ml_scheduler.plans.loads import at_load
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel, expand, hedge, hold_features, shared_s
from hybrid_ml_scheduler.schedulers.holding.settings import PLAIN, SETTINGS, History, Setting, replayed_values
from hybrid_ml_scheduler.training.training_log import TrainingLog
from hybrid_ml_scheduler.workload import PRESETS, WorkloadParameters, preset

__all__ = ["PATIENCE", "HoldBudget", "stream_history", "train_hold"]

PATIENCE = 100.0
_RIDGE = 60.0
_FOREIGN, _CUT = (
    0.35,
    0.85,
)  # of all workloads: below it of no preset, above it presets that are not cut


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldBudget:
    """How much is played: workloads, tasks of each, and the first training seed."""

    workloads: int = 1000
    tasks: int = 2048
    seed: int = 7_000_000

    def with_effort(self, effort: float, seed: int | None = None) -> HoldBudget:
        """A share of the workloads, at least eight."""
        count = max(8, round(self.workloads * effort))
        return HoldBudget(workloads=count, tasks=self.tasks, seed=self.seed if seed is None else seed)

    def record(self) -> dict[str, float]:
        """The budget as it is written down."""
        return {"workloads": self.workloads, "tasks": self.tasks, "seed": self.seed}


def stream_history(
    law: WorkloadParameters,
    node: Node,
    load: float,
    seed: int,
    count: int,
    error: float = 0.0,
    whole: bool = False,
    speed: float = 1.0,
) -> History:
    """A stream as `rl_hold` would remember it; its durations known with a log-normal error, its tasks cut or not.

    With `speed` the GPUs are so many times as fast; arrivals come so much sooner that the load stays the same.
    """
    loaded = at_load(law, node, load, seed, count)
    terms, arrival = PhysicsEstimator(node).batch_terms(loaded.batch), loaded.batch.arrival_time
    if speed != 1.0:
        faster = terms._replace(gpu_s=terms.gpu_s / speed)
        arrival = arrival * (shared_s(faster).sum() / shared_s(terms).sum())
        terms = faster
    if whole:
        terms = terms._replace(memory_rule=np.maximum(terms.memory_rule, terms.memory_rule % WHOLE + WHOLE))
    if error > 0.0:
        factors = np.exp(error * stream(seed, "hold_training", "error").standard_normal(len(loaded.batch)))
        terms = terms._replace(cpu_s=terms.cpu_s * factors, gpu_s=terms.gpu_s * factors[:, None])
    return as_history(arrival, terms)


def foreign_history(node: Node, load: float, seed: int, count: int, whole: bool) -> History:
    """A stream that no preset gives: log-normal sizes of any spread, any gain from GPUs, arrivals in bursts."""
    rng = stream(seed, "hold_training", "foreign")
    sizes = np.exp(rng.uniform(0.3, 3.0) * rng.standard_normal(count))
    if rng.random() < 0.4:  # a few that take much longer than all others
        sizes = np.where(rng.random(count) < rng.uniform(0.01, 0.1), sizes * math.exp(rng.uniform(2.0, 6.0)), sizes)
    gains = np.exp(rng.uniform(-0.5, 4.5) + rng.uniform(0.0, 1.5) * rng.standard_normal(count))
    cpu_s, gpu_s = sizes, sizes / gains
    if rng.random() < 0.5:  # the seconds on a GPU are what varies, as where those were measured
        cpu_s, gpu_s = sizes * gains, sizes
    on_cpu = rng.random(count) < (rng.uniform(0.0, 0.3) if whole and rng.random() < 0.2 else 0.0)
    pauses = rng.gamma(1.0 / rng.uniform(1.0, 8.0), size=count)
    shared = float((1.0 / (1.0 / cpu_s + node.num_gpus / gpu_s)).mean())
    arrival = np.cumsum(pauses * shared / (load * pauses.mean()))
    terms = BatchTerms(
        cpu_s,
        np.ascontiguousarray(gpu_s[:, None]),
        np.empty((count, 0)),
        np.zeros(node.num_gpus, dtype=np.int64),
        np.zeros(count),
        np.ones(node.num_gpus),
        np.where(on_cpu, CPU_ONLY + WHOLE, WHOLE if whole else 0),
        False,
    )
    return as_history(arrival - arrival[0], terms)


def as_history(arrival: FloatColumn, terms: BatchTerms) -> History:
    """Tasks as `rl_hold` remembers them."""
    cut_s, whole_s = (possible_seconds(terms, cut) for cut in (True, False))
    return History(arrival, cut_s, terms, patience=PATIENCE, whole_s=whole_s)


def train_hold(
    budget: HoldBudget,
    log: TrainingLog,
    *,
    laws: Sequence[WorkloadParameters] = (),
    node: Node | None = None,
    settings: tuple[Setting, ...] = SETTINGS,
) -> HoldModel:
    """Play the later half of every workload under every setting, and fit by ridge regression what its first tasks tell
    of how much worse each is than the best.
    """
    rng = stream(budget.seed, "hold_training")
    drawn = tuple(laws) or tuple(preset(name) for name in PRESETS)
    features, losses = [], []
    for place in range(budget.workloads):
        law = drawn[int(rng.integers(len(drawn)))]
        where = node or Node.uniform(int(rng.choice([1, 1, 2, 3, 4, 4, 4, 6, 8])))
        load, error = float(rng.uniform(0.2, 1.05)), float(rng.choice([0.0, 0.0, 0.3]))
        kind, seed = rng.random(), budget.seed + place
        if kind < _FOREIGN and not laws:
            history = foreign_history(where, load, seed, budget.tasks, bool(rng.random() < 0.7))
        else:
            speed = 1.0 if rng.random() < 0.6 else math.exp(float(rng.uniform(0.0, 4.0)))
            history = stream_history(law, where, load, seed, budget.tasks, error, bool(kind > _CUT), speed)
        later = history.rows(budget.tasks // 2, budget.tasks)
        values = replayed_values(later, settings, "latency", np.zeros(where.num_gpus + 1))
        for seen in _seen(budget.tasks):
            features.append(hold_features(history.rows(0, seen)))
            losses.append(hedge(values, settings))
        log.stage("playing workloads under every setting", place + 1, budget.workloads)
        log.point("loss_of_plain_rules", place, float(losses[-1][: len(PLAIN)].min()))
    return _fitted(np.array(features), np.array(losses), settings, budget)


def _seen(tasks: int) -> list[int]:
    """After how many tasks of a stream features are taken: from the first review on, at most half of it."""
    return [seen for seen in (32, 64, 128, 256, 512, 1024) if seen <= tasks // 2] or [max(tasks // 2, 1)]


def _fitted(features: FloatColumn, losses: FloatColumn, settings: tuple[Setting, ...], budget: HoldBudget) -> HoldModel:
    centre, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-6)
    design = np.array([expand((row - centre) / scale) for row in features])
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
