"""A recommendation from plain values to plain values: what the command line and the service both stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.candidates import candidates_from_mapping
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.promises import read_promise
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.recommending.search import DEFAULT_POLICIES, Progress, Question, recommend
from hybrid_ml_scheduler.studies.recommending.words import answer_mapping

__all__ = ["question_from_values", "recommendation"]

_MOST_SEEDS = 1000


def question_from_values(
    workload: WorkloadChoice,
    nodes: Sequence[Mapping[str, Any]],
    promise: str,
    *,
    policies: Sequence[str] = DEFAULT_POLICIES,
    types: Mapping[str, Any] | None = None,
    seed: int = 0,
    seeds: int = 5,
) -> Question:
    """A question from plain values; each node is a section `[[node]]` of `plans/nodes.toml`, without file names.

    Whatever cannot be asked is refused here, in one sentence: nodes, promise, policies, number of seeds.
    """
    if not 1 <= seeds <= _MOST_SEEDS:
        raise PlanError(f"seeds = {seeds} must be a whole number from 1 to {_MOST_SEEDS}.")
    for name in policies:
        create(name)
    sections = {"node": list(nodes), "types": dict(types or {})}
    return Question(
        workload=workload,
        nodes=tuple(candidates_from_mapping(sections, "nodes", files=False)),
        policies=tuple(dict.fromkeys(policies)),
        promise=read_promise(promise),
        seed=seed,
        seeds=seeds,
    )


def recommendation(question: Question, progress: Progress | None = None, log: RunLog | None = None) -> dict[str, Any]:
    """Search, and give the record of the answer, made of plain values as `recommendation.json` holds it.

    `progress(label, done, total)` is called before the first and after every run, in the thread that searches; `total`
    is what is known by now and may shrink or grow. Raising in it ends the search.
    """
    return answer_mapping(question, recommend(question, progress, log))
