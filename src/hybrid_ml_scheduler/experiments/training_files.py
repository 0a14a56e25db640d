"""Trained agents to files, and any model file to a verdict."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn, RaceContext
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.experiments import judging
from hybrid_ml_scheduler.learning.dqn import DoubleDqn
from hybrid_ml_scheduler.learning.files import load_agent, load_forest
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers.agent_view import cluster_inputs
from hybrid_ml_scheduler.schedulers.pace import HOME, is_pace
from hybrid_ml_scheduler.schedulers.rl_agent import RlAgent, shipped_home, shipped_weights
from hybrid_ml_scheduler.schedulers.split_model import SplitModel, load_split, split_document
from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["judged", "save_trained_agent", "save_trained_split"]

Singles = npt.NDArray[np.float32]


def save_trained_agent(dqn: DoubleDqn, home: FloatColumn, node: Node, place: Path) -> None:
    """Write a whole agent with its home (`.pth`) or its bare weights (`.npy`)."""
    if place.suffix == ".npy":
        _written(place, lambda beside: _save_array(beside, dqn.weights))
        return
    agent = RlAgent(model=None)
    agent.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    agent.adopt(dqn.weights, home)
    agent.save_model(place)


def save_trained_split(model: SplitModel, place: Path) -> None:
    """Write what `rl_split` has learned, with how it was found."""
    text = json.dumps(split_document(model), indent=1) + "\n"
    _written(place, lambda beside: beside.write_text(text, encoding="utf-8"))


def judged(
    model: str, law: WorkloadParameters, node: Node, loads: Sequence[float], seeds: Sequence[int], count: int
) -> dict[str, Any]:
    """Judge a model by the measure of its kind."""
    suffix = Path(model).suffix
    figures: dict[str, list[float]] = {}
    if suffix == ".joblib":
        forest = load_forest(model)[0]
        figures["execution_time_vs_optimum"] = judging.forest_ratio(forest, law, node, seeds, count)
    elif suffix == ".json" or model == "rl_split":
        split = load_split(None if model == "rl_split" else model)
        for load in loads:
            plain, frugal = judging.split_ratios(split, law, node, load, seeds, count)
            figures[f"latency_vs_earliest_finish_at_{load:g}"] = plain
            figures[f"latency_vs_frugal_finish_at_{load:g}"] = frugal
        figures["makespan_vs_bound"] = judging.split_bound_ratio(split, law, node, seeds, min(count, 10_000))
    elif suffix in (".pth", ".npy") or model == "rl_agent":
        weights, home = _agent_weights(model, node)
        for load in loads:
            ratios = judging.agent_ratio(weights, law, node, load, seeds, count, home)
            figures[f"latency_vs_earliest_device_at_{load:g}"] = ratios
    else:
        raise ModelError(f"{model} is no model: name rl_agent, rl_split or a .joblib, .pth, .npy or .json file.")
    return _with_intervals(figures)


def _with_intervals(figures: dict[str, list[float]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, values in figures.items():
        result[name], result[f"{name}_ci"] = judging.summary(values)
    return result


def _agent_weights(model: str, node: Node) -> tuple[Singles, FloatColumn | None]:
    """The weights of an agent, and the home that it knows of."""
    weights: Singles | None
    home: FloatColumn | None = None
    if model == "rl_agent":
        weights, home = shipped_weights(node.num_gpus), shipped_home()
    elif model.endswith(".npy"):
        try:
            weights = np.load(model, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ModelError(f"{model} cannot be read as weights: {error}.") from error
    else:
        state = load_agent(model)
        weights = np.asarray(state.get("dqn", {}).get("weights", ()), dtype=np.float32)
        pace = np.asarray(state.get("pace", ()), dtype=np.float64)
        home = pace[-HOME:] if is_pace(pace) and len(pace) > HOME else None
    inputs, actions = cluster_inputs(node.num_gpus), node.num_gpus + 1
    expected = (inputs + 1) * judging.HIDDEN + (judging.HIDDEN + 1) * (judging.HIDDEN + actions + 1)
    if weights is None or weights.shape != (expected,) or weights.dtype != np.float32:
        raise ModelError(f"{model} holds no weights for a node of {node.num_gpus} GPUs.")
    return weights, home


def _save_array(place: Path, weights: Singles) -> None:
    with place.open("wb") as target:
        np.save(target, weights, allow_pickle=False)


def _written(place: Path, write: Any) -> None:
    """Write beside the place and move, so that a file is there whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.writing")
    try:
        write(beside)
        os.replace(beside, place)
    except OSError as error:
        raise ModelError(f"{place} cannot be written: {error.strerror or error}.") from error
    finally:
        beside.unlink(missing_ok=True)
