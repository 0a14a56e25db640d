"""Features, forest, duration model, replay ring and network: data in, model out; nothing here knows a cluster."""

from __future__ import annotations

from hybrid_ml_scheduler.learning.dqn import DoubleDqn, DqnSettings
from hybrid_ml_scheduler.learning.duration_model import Belief, DurationModel, belief_sentence
from hybrid_ml_scheduler.learning.features import FEATURES, Scaler, feature_matrix, feature_row
from hybrid_ml_scheduler.learning.files import load_agent, load_forest, save_agent, save_forest
from hybrid_ml_scheduler.learning.forest import ForestModel, fit_forest
from hybrid_ml_scheduler.learning.replay import Replay, Transition, Transitions
from hybrid_ml_scheduler.learning.trees import FlatForest, flatten_forest

__all__ = [
    "FEATURES",
    "Belief",
    "DoubleDqn",
    "DqnSettings",
    "DurationModel",
    "FlatForest",
    "ForestModel",
    "Replay",
    "Scaler",
    "Transition",
    "Transitions",
    "belief_sentence",
    "feature_matrix",
    "feature_row",
    "fit_forest",
    "flatten_forest",
    "load_agent",
    "load_forest",
    "save_agent",
    "save_forest",
]
