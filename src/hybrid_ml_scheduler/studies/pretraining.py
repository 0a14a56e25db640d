"""Pre-training of the agent within a pipeline: a teacher's decisions with what they really earned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.cluster import summarize
from hybrid_ml_scheduler.core import RaceContext, Scheduler, TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.training.demonstrations import demonstrations

__all__ = ["TEACHER", "judge_pretrained", "pretrain_agent"]

TEACHER = "earliest_device"
Taught = dict[str, Any]


def pretrain_agent(options: Mapping[str, Any], lessons: TaskBatch, node: Node, seed: int) -> tuple[RlAgent, Taught]:
    """Teach an agent, one update a demonstration.

    It begins from nothing, not from the shipped weights, unless the options name a model.
    """
    agent = RlAgent(**{**_begun(options), "online": True})
    agent.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
    shown = demonstrations(create(TEACHER), lessons, node, seed)
    agent.pretrain(shown, len(shown))
    start = _begun(options)["model"]
    begins_with = {None: "nothing", "default": "the shipped weights"}.get(start, str(start))
    return agent, {
        "begins_with": begins_with,
        "teacher": TEACHER,
        "demonstrations": len(shown),
        "updates": agent.dqn.updates,
        "loss": agent.loss,
    }


def judge_pretrained(options: Mapping[str, Any], model: Path, held_out: TaskBatch, node: Node, seed: int) -> Taught:
    """Mean latency of the frozen agent, of its teacher, and of the agent before it was taught, on other tasks."""
    begun = _begun(options)
    rivals: dict[str, Scheduler] = {
        "mean_latency_s": RlAgent(**{**begun, "model": str(model), "online": False}),
        "teacher_mean_latency_s": create(TEACHER),
        "untaught_mean_latency_s": RlAgent(**{**begun, "online": False}),
    }
    found = {name: _latency_s(rival, held_out, node, seed) for name, rival in rivals.items()}
    return {"held_out": len(held_out), **found}


def _begun(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": None, **options}


def _latency_s(scheduler: Scheduler, batch: TaskBatch, node: Node, seed: int) -> float:
    return float(summarize(run_scheduler(scheduler, batch, node, seed=seed)).mean_latency_s)
