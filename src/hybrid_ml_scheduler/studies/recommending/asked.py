"""A recommendation from plain values to plain values: what the command line and the service both stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import LEARNED, checked_level
from hybrid_ml_scheduler.plans.candidates import Candidate, candidates_from_mapping
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.targets import Target, read_best, read_budget, read_target
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES, Load, Question
from hybrid_ml_scheduler.studies.recommending.search import Progress, recommend
from hybrid_ml_scheduler.studies.recommending.words import answer_mapping

__all__ = ["Asked", "question_from_values", "recommendation"]

_MOST_SEEDS = 1000


def _target(target: str | None, best: str | None) -> Target:
    """What is asked for: a target to keep, or a metric to be best in; exactly one of them."""
    if target is None and best is None:
        raise PlanError("Say what is asked for: a target, such as 'p95_latency < 2 s', or best, such as p95_latency.")
    if target is not None and best is not None:
        raise PlanError("A target (--target) and the best (--best) are two questions: ask for one of them.")
    return read_target(target) if target is not None else read_best(str(best))


def _load(share: float | None, node: str | None) -> Load | None:
    """A load and the node whose load it is; one goes with the other."""
    if share is None and node is None:
        return None
    if share is None:
        raise PlanError(f"reference node = {node!r} is the node of a target load, such as 0.7: give that too.")
    if node is None:
        raise PlanError(f"target load = {share:g} is the load of one node: name that node as the reference node.")
    return Load(share, node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for, in plain values: the words of a command or of a request."""

    target: str | None = None
    best: str | None = None
    budget: str | None = None
    current: str | None = None
    target_load: float | None = None
    reference_node: str | None = None
    knowledge: str = LEARNED
    policies: Sequence[str] = DEFAULT_POLICIES
    widest: int | None = None
    seed: int = 0
    seeds: int = 5

    def question(self, workload: WorkloadChoice, nodes: Sequence[Candidate]) -> Question:
        """The question; whatever cannot be asked is refused here, in one sentence."""
        if not 1 <= self.seeds <= _MOST_SEEDS:
            raise PlanError(f"seeds = {self.seeds} must be a whole number from 1 to {_MOST_SEEDS}.")
        question = Question(
            workload=workload,
            nodes=tuple(nodes),
            policies=tuple(dict.fromkeys(self.policies)),
            target=_target(self.target, self.best),
            budget=None if self.budget is None else read_budget(self.budget),
            current=self.current,
            load=_load(self.target_load, self.reference_node),
            knowledge=checked_level("knowledge", self.knowledge),
            widest=self.widest,
            seed=self.seed,
            seeds=self.seeds,
        )
        question.entrants()
        return question


def question_from_values(
    workload: WorkloadChoice, nodes: Sequence[Mapping[str, Any]], asked: Asked, types: Mapping[str, Any] | None = None
) -> Question:
    """A question whose nodes are sections `[[node]]` of `plans/nodes.toml`, without names of files."""
    sections = {"node": list(nodes), "types": dict(types or {})}
    return asked.question(workload, candidates_from_mapping(sections, "nodes", files=False))


def recommendation(question: Question, progress: Progress | None = None, log: RunLog | None = None) -> dict[str, Any]:
    """Search, and give the record of the answer, made of plain values as `recommendation.json` holds it.

    `progress(label, done, total)` is called before the first and after every run, in the thread that searches; `total`
    is what is known by now and may shrink or grow. Raising in it ends the search.
    """
    return answer_mapping(question, recommend(question, progress, log))
