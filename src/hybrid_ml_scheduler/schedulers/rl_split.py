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

from hybrid_ml_scheduler.core import ClusterView, Decision, FloatColumn, Task
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid, task_terms
from hybrid_ml_scheduler.schedulers.value_charge import (
    FLOOD_WEIGHTS,
    STREAM_WEIGHTS,
    least_value_charge,
    value_charge,
)

__all__ = ["RlSplit", "load_weights", "weights_document"]

FORMAT = "hybrid-ml-scheduler/rl-split"
VERSION = 1


class RlSplit:
    """Takes the split with the least completion time plus learned charge for the future."""

    name = "rl_split"

    def __init__(self, step: float = DEFAULT_STEP, model: str | None = None) -> None:
        self._points = as_column(split_grid(step))
        self.weights = load_weights(model)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Charge every split on every GPU and take the cheapest."""
        fraction, gpu = least_value_charge(
            *task_terms(task, cluster),
            cluster.cpu_backlog_s,
            as_column(cluster.gpu_backlogs_s),
            self._points,
            self.weights,
        )
        return Decision(gpu_fraction=fraction, gpu=max(gpu, 0))

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """The charge of the choice, and of each whole device, beside the bare completion times."""
        chosen = self.decide(task, cluster)
        gpu = chosen.gpu or 0
        whole = {"cpu": (0.0, 0)} | {f"gpu_{index}": (1.0, index) for index in range(cluster.estimator.num_gpus)}
        return {
            "reason": "least completion time plus the learned price of what the placement does to the queues",
            "gpu_fraction": chosen.gpu_fraction,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, gpu),
            "charge": self._charge(task, cluster, chosen.gpu_fraction, gpu),
            "whole_device_charge": {name: self._charge(task, cluster, *place) for name, place in whole.items()},
        }

    def _charge(self, task: Task, cluster: ClusterView, fraction: float, gpu: int) -> float:
        parts = cluster.estimator.parts(task, fraction, gpu)
        if parts.failed:
            return math.inf
        serial = bool(getattr(cluster.estimator, "serial", False))
        backlogs = as_column(cluster.gpu_backlogs_s)
        return float(value_charge(parts.cpu_s, parts.gpu_s, cluster.cpu_backlog_s, backlogs, gpu, serial, self.weights))


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
        or len(weights) != STREAM_WEIGHTS + FLOOD_WEIGHTS
        or not all(isinstance(value, float) and math.isfinite(value) for value in weights)
    ):
        raise ModelError(f"{place} does not hold {STREAM_WEIGHTS + FLOOD_WEIGHTS} finite weights.")
    return np.array(weights, dtype=np.float64)
