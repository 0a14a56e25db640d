"""What is asked of a recommendation, checked before anything runs, and the tasks that it is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import LEARNED, Level, split_level
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.core.validation import MOST_GPUS
from hybrid_ml_scheduler.physics import Gpu, Node
from hybrid_ml_scheduler.plans.candidates import Candidate
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.plans.targets import Budget, Target, money
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE
from hybrid_ml_scheduler.studies.running import Entrant, entrants
from hybrid_ml_scheduler.workload.arrival_times import ArrivalChoice, with_arrivals

__all__ = ["DEFAULT_POLICIES", "Load", "Question", "busiest_tenth", "tasks_of"]

_ALWAYS_EXACT = "oracle"
_BEST_RULES = ("earliest_finish", "sjf", "rl_hold", "min_min", "c_mu", "hetero_prio", "size_split")
DEFAULT_POLICIES = tuple(dict.fromkeys([name for name in (*DEFAULT_RACE, *_BEST_RULES) if name != _ALWAYS_EXACT]))
"""The strategies of a default race without the oracle, and the best simple rules."""

_FEWEST_AT_PEAK = 20
_SCALE, _LOAD = "arrival_scale", "target_load"


class Load(NamedTuple):
    """A load that is asked for by name: the share of the time for which the GPUs of one node would be busy."""

    share: float
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A workload, nodes, policies, a target, and how many seeds may be spent.

    `knowledge` is what the policies know of durations. `load` replaces the arrivals of the workload. `budget` leaves
    out dearer nodes, `current` names the node that one has, `widest` leaves out tasks that need more GPUs at once.
    """

    workload: WorkloadChoice
    nodes: tuple[Candidate, ...]
    target: Target
    policies: tuple[str, ...] = DEFAULT_POLICIES
    knowledge: Level = LEARNED
    seed: int = 0
    seeds: int = 5
    budget: Budget | None = None
    current: str | None = None
    load: Load | None = None
    widest: int | None = None

    def __post_init__(self) -> None:
        if not self.policies:
            raise PlanError("A recommendation needs at least one policy.")
        names = [one.name for one in self.nodes]
        for where, name in (("current", self.current), ("reference node", self.load and self.load.node)):
            if name is not None and name not in names:
                raise PlanError(f"{where} = {name!r} is none of the nodes{nearest_hint(name, names)}")
        self._check_load()
        if self.widest is not None and not 1 <= self.widest <= MOST_GPUS:
            raise PlanError(f"leave-out-gangs-above = {self.widest} must be from 1 to {MOST_GPUS}.")
        self._check_budget()

    def _check_load(self) -> None:
        options, rate = self.workload.options, self.workload.values.get("arrival_rate")
        if _LOAD in options:
            raise PlanError(
                f"{_LOAD} = {options[_LOAD]} among the trace options does not say whose load it is: ask for a target "
                "load and name the reference node."
            )
        if self.load is None:
            return
        if not (math.isfinite(self.load.share) and self.load.share > 0.0):
            raise PlanError(f"target load = {self.load.share:g} must be a finite number above 0, such as 0.7.")
        given = "a rate" if rate is not None else _SCALE if _SCALE in options else None
        if given is not None:
            raise PlanError(f"A target load does not go with {given}: both would set the arrival times.")

    def _check_budget(self) -> None:
        if self.budget is None:
            return
        if not self.budget.is_hourly:
            for one in self.nodes:
                if one.purchase is None:
                    raise PlanError(
                        f"The budget buys a node, and the node {one.name!r} has no price to buy it: give it "
                        "purchase = 24000, say."
                    )
        if not self.affordable:
            cheapest = self.by_price[0]
            raise PlanError(
                f"No node costs at most {self.budget.words()}; the cheapest, {cheapest.name}, costs "
                f"{self.budget.words(self.price(cheapest))}."
            )

    def price(self, node: Candidate) -> float:
        """What a node costs: to buy it where the budget is one for a purchase, else by the hour."""
        buys = self.budget is not None and not self.budget.is_hourly
        return node.purchase if buys and node.purchase is not None else node.price_usd_h

    def price_words(self, price: float) -> str:
        """A price of this question as people read it."""
        return money(price) if self.budget is None else self.budget.words(price)

    @property
    def by_price(self) -> list[Candidate]:
        """All nodes, the cheapest first, whatever their order in the file."""
        return sorted(self.nodes, key=lambda one: (self.price(one), one.name))

    @property
    def affordable(self) -> list[Candidate]:
        """The nodes within the budget, the cheapest first."""
        most = math.inf if self.budget is None else self.budget.amount
        return [one for one in self.by_price if self.price(one) <= most]

    @property
    def searched(self) -> list[Candidate]:
        """The nodes that are judged: those within the budget, and the one that one has."""
        kept = self.affordable
        return [one for one in self.by_price if one in kept or one.name == self.current]

    def entrants(self) -> list[Entrant]:
        """The policies, made once to see that they can be; one that is always told the truth cannot be bought."""
        found = entrants(Plan(knowledge=self.knowledge, schedulers=tuple(dict.fromkeys(self.policies))))
        for one in found:
            if split_level(one.name)[0] == _ALWAYS_EXACT:
                raise PlanError(
                    f"policies: {one.name} cannot be recommended: it always knows the true durations, which no "
                    "scheduler knows beforehand. Leave it out."
                )
        return found


def tasks_of(question: Question, seed: int) -> TaskBatch:
    """The tasks of a seed, the same for all nodes: at the workload's own arrivals, or at the load that is asked for."""
    workload = question.workload
    if not workload.is_preset and _SCALE not in workload.options and "arrival_rate" not in workload.values:
        workload = replace(workload, options={**workload.options, _SCALE: 1.0})
    batch = workload.tasks(seed, _any_node(question))
    if question.widest is not None:
        batch = replace(batch, assumptions=tuple(_asked_for(one) for one in batch.assumptions))
    if question.load is None:
        return batch
    node = next(one.node for one in question.nodes if one.name == question.load.node)
    found, text = with_arrivals(batch, ArrivalChoice(load=question.load.share), node)
    notes = [one for one in found.assumptions if not one.startswith(f"{_SCALE}:")]
    return replace(found, assumptions=(*notes, f"{_SCALE}: {text} The node is {question.load.node}."))


def _asked_for(note: str) -> str:
    """The note about gangs that were left out because that was asked for, not because of any node."""
    if not note.startswith("wide_gangs:"):
        return note
    return note.replace("more than the node's", "more than").partition("; a node with")[0].rstrip(".") + ", as asked."


_ANY_MEMORY_MB = 1e12


def _any_node(question: Question) -> Node:
    """A node that can hold every task, so that no candidate decides which tasks are read."""
    types: Mapping[str, Any] = {one.name: one for node in question.nodes for one in node.node.types}
    return Node(gpus=(Gpu(memory_mb=_ANY_MEMORY_MB),) * (question.widest or MOST_GPUS), types=tuple(types.values()))


def busiest_tenth(batch: TaskBatch) -> BoolColumn | None:
    """The tenth of the tasks that arrive closest together; None where all arrive at once, or there are too few.

    Tasks are in order of arrival, so these are neighbours: the shortest stretch of time in which a tenth arrives.
    """
    count = max(_FEWEST_AT_PEAK, math.ceil(len(batch) / 10))
    times = batch.arrival_time
    if 2 * count > len(batch) or times[0] == times[-1]:
        return None
    first = int(np.argmin(times[count - 1 :] - times[: len(times) - count + 1]))
    found: BoolColumn = np.zeros(len(batch), dtype=np.bool_)
    found[first : first + count] = True
    return found
