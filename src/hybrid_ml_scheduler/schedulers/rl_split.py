"""RL split: an agent whose actions are a GPU and a share, with a learned value of the queues.

The weights were found by policy search in the simulator (cross-entropy method; see `hms train agent --help`) and
are frozen when the agent decides. A decision charges every split on every GPU and takes the cheapest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, FloatColumn, RaceContext, Task
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, TaskTerms, as_column, split_grid, task_terms
from hybrid_ml_scheduler.schedulers.pace import fresh_pace, pace_step, seen_load
from hybrid_ml_scheduler.schedulers.value_charge import (
    ALL_WEIGHTS,
    foresight_at,
    least_value_charge,
    value_charge,
)

__all__ = ["RlSplit", "load_weights", "weights_document"]

FORMAT = "hybrid-ml-scheduler/rl-split"
VERSION = 2


class RlSplit:
    """Takes the split with the least completion time plus learned charge for the future."""

    name = "rl_split"

    def __init__(self, step: float = DEFAULT_STEP, model: str | None = None) -> None:
        self._points = as_column(split_grid(step))
        self.weights = load_weights(model)
        self._pace = fresh_pace()

    def prepare(self, context: RaceContext) -> None:
        """Forget the arrivals of another race."""
        self._pace = fresh_pace()

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Charge every split on every GPU and take the cheapest."""
        return self._decide(task, cluster, self._pace)

    def preview(self, task: Task, cluster: ClusterView) -> Decision:
        """The decision that `decide` would take now; nothing is remembered."""
        return self._decide(task, cluster, self._pace.copy())

    def capture(self) -> Mapping[str, Any]:
        """The pace of the arrivals."""
        return {"pace": self._pace.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured pace."""
        self._pace = np.array(state["pace"], dtype=np.float64)

    def _decide(self, task: Task, cluster: ClusterView, pace: FloatColumn) -> Decision:
        terms = task_terms(task, cluster)
        foresight = self._foresight(terms, cluster, pace)
        backlogs = as_column(cluster.gpu_backlogs_s)
        fraction, gpu = least_value_charge(
            *terms, cluster.cpu_backlog_s, backlogs, self._points, foresight, self.weights
        )
        return Decision(gpu_fraction=fraction, gpu=max(gpu, 0))

    def _foresight(self, terms: TaskTerms, cluster: ClusterView, pace: FloatColumn) -> float:
        pace_step(cluster.now_s, min(terms.cpu_s, float(terms.gpu_s.min())), pace)
        return float(foresight_at(seen_load(pace, len(cluster.gpu_backlogs_s) + 1), self.weights))

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """The charge of the choice, and of each whole device, beside the bare completion times."""
        chosen = self.preview(task, cluster)
        gpu = chosen.gpu or 0
        foresight = self._foresight(task_terms(task, cluster), cluster, self._pace.copy())
        whole = {"cpu": (0.0, 0)} | {f"gpu_{index}": (1.0, index) for index in range(cluster.estimator.num_gpus)}
        return {
            "reason": "least completion time plus the learned price of what the placement does to the queues",
            "gpu_fraction": chosen.gpu_fraction,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, gpu),
            "foresight": foresight,
            "charge": self._charge(task, cluster, chosen.gpu_fraction, gpu, foresight),
            "whole_device_charge": {
                name: self._charge(task, cluster, *place, foresight) for name, place in whole.items()
            },
        }

    def _charge(self, task: Task, cluster: ClusterView, fraction: float, gpu: int, foresight: float) -> float:
        parts = cluster.estimator.parts(task, fraction, gpu)
        if parts.failed:
            return math.inf
        serial = bool(getattr(cluster.estimator, "serial", False))
        backlogs = as_column(cluster.gpu_backlogs_s)
        charge = value_charge(
            parts.cpu_s, parts.gpu_s, cluster.cpu_backlog_s, backlogs, gpu, serial, foresight, self.weights
        )
        return float(charge)


def weights_document(weights: FloatColumn, record: Mapping[str, Any]) -> dict[str, Any]:
    """The weights as a JSON document, with how they were found."""
    return {"format": FORMAT, "version": VERSION, "record": dict(record), "weights": weights.tolist()}


def load_weights(path: str | None = None) -> FloatColumn:
    """Read weights from a file (the shipped ones by default), or refuse it with one sentence."""
    place = Path(path) if path else files("hybrid_ml_scheduler.schedulers") / "weights" / "rl_split.json"
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{place} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise ModelError(f"{place} is corrupt or not a model file: it holds no JSON.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f"{place} is not a file of the kind {FORMAT}.")
    if document.get("version") != VERSION:
        raise ModelError(f"{place} has version {document.get('version')!r}; this program reads version {VERSION}.")
    weights = document.get("weights")
    if (
        not isinstance(weights, list)
        or len(weights) != ALL_WEIGHTS
        or not all(isinstance(value, float) and math.isfinite(value) for value in weights)
    ):
        raise ModelError(f"{place} does not hold {ALL_WEIGHTS} finite weights.")
    return np.array(weights, dtype=np.float64)
