"""Trained agents to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.core import RaceContext
from hybrid_ml_scheduler.learning.files import write_model
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel, hold_document
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent
from hybrid_ml_scheduler.schedulers.agents.split_model import SplitModel, split_document
from hybrid_ml_scheduler.training.agent_training import TrainedAgent

__all__ = ["save_hold", "save_trained_agent", "save_trained_hold", "save_trained_split"]


def save_trained_agent(trained: TrainedAgent, node: Node, place: Path) -> None:
    """Write a whole agent with its training profile (`.pth`) or its bare weights (`.npy`)."""
    if place.suffix == ".npy":
        write_model(place, lambda beside: _save_array(beside, trained))
        return
    agent = RlAgent(model=None)
    agent.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    agent.adopt(trained.dqn.weights, trained.training_profile)
    agent.save_model(place)


def save_trained_split(model: SplitModel, workloads: Sequence[str], place: Path) -> None:
    """Write what `rl_split` has learned, with how it was found."""
    record = {"command": "hms train agent --strategy rl_split", "workload": workloads[0], **model.record}
    text = json.dumps(split_document(replace(model, record=record)), indent=1) + "\n"
    write_model(place, lambda beside: Path(beside).write_text(text, encoding="utf-8"))


def save_trained_hold(model: HoldModel, workloads: Sequence[str], place: Path) -> None:
    """Write what `rl_hold` has learned, with how it was found."""
    record = {"command": "hms train agent --strategy rl_hold", "workloads": list(workloads), **model.record}
    save_hold(replace(model, record=record), place)


def save_hold(model: HoldModel, place: Path) -> None:
    """Write a model of `rl_hold`, one row of numbers a line."""
    rows = [f" {json.dumps(key)}: {_rows(value)}" for key, value in hold_document(model).items()]
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    write_model(place, lambda beside: Path(beside).write_text(text, encoding="utf-8"))


def _rows(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
    return json.dumps(value)


def _save_array(place: str, trained: TrainedAgent) -> None:
    with open(place, "wb") as target:
        np.save(target, trained.dqn.weights, allow_pickle=False)
