"""What `rl_split` has learned, and its file: weights, training profile, and how they were found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.learning.files import json_model
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import PROFILE_LENGTH
from hybrid_ml_scheduler.schedulers.agents.value_charge import ALL_WEIGHTS

__all__ = ["SplitModel", "load_split", "split_document"]

FORMAT = "hybrid-ml-scheduler/rl-split"
VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitModel:
    """Weights of both regimes, the tasks and the load that they know, and the node's number of GPUs."""

    weights: FloatColumn
    training_profile: FloatColumn
    num_gpus: int
    record: Mapping[str, Any] = field(default_factory=dict)

    def training_profile_on(self, num_gpus: int) -> FloatColumn:
        """The profile as a node of so many GPUs sees it: on a larger node than its own, no load counts as busy.

        With eight GPUs the weights of four were up to 2.7 times slower than `earliest_finish`; with one or two they
        are as good as on the node of their training.
        """
        if num_gpus <= self.num_gpus:
            return self.training_profile
        return np.append(self.training_profile[:-1], math.inf)


def split_document(model: SplitModel) -> dict[str, Any]:
    """The model as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "record": dict(model.record),
        "num_gpus": model.num_gpus,
        "home": model.training_profile.tolist(),
        "weights": model.weights.tolist(),
    }


def load_split(path: str | None = None) -> SplitModel:
    """Read a model (the shipped one by default), or refuse the file with one sentence."""
    place = Path(path) if path else files("hybrid_ml_scheduler.schedulers") / "weights" / "rl_split.json"
    document = json_model(place, FORMAT, VERSION)
    gpus, record = document.get("num_gpus"), document.get("record")
    if isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 1 or not isinstance(record, dict):
        raise ModelError(f"{place} does not say for how many GPUs it was trained, and how.")
    weights = _column(place, document.get("weights"), ALL_WEIGHTS, "weights")
    training_profile = _column(place, document.get("home"), PROFILE_LENGTH, "numbers of a training profile")
    if not np.all(training_profile[PROFILE_LENGTH // 2 : -1] > 0.0):
        raise ModelError(f"{place} holds a tolerance that is not above 0.")
    return SplitModel(weights=weights, training_profile=training_profile, num_gpus=gpus, record=record)


def _column(place: Any, values: Any, count: int, what: str) -> FloatColumn:
    sound = isinstance(values, list) and all(isinstance(one, float) and math.isfinite(one) for one in values)
    if not sound or len(values) != count:
        raise ModelError(f"{place} does not hold {count} finite {what}.")
    return np.array(values, dtype=np.float64)
