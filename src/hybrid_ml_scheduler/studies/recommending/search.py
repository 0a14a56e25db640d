"""Which node and which policy: each node is judged on its own, with paired seeds and early stopping.

What is run on a node, and how often, depends on that node alone: its figures are the same whichever others are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch, with_rule
from hybrid_ml_scheduler.plans.candidates import Candidate
from hybrid_ml_scheduler.plans.intervals import bounded_interval, t_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.schedulers import available
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.recommending.assumptions import PRICES, Variation, notes, variations
from hybrid_ml_scheduler.studies.recommending.question import Question, tasks_of
from hybrid_ml_scheduler.studies.recommending.running import Figures, NodeTasks, value_of_pair
from hybrid_ml_scheduler.studies.recommending.trials import Trial, verdict_of
from hybrid_ml_scheduler.studies.running import Entrant

__all__ = ["SAME_NODE", "Answer", "Question", "Trial", "recommend"]

SAME_NODE = "the same"  # how the words of an answer with the same node begin
_SAME = f"{SAME_NODE} answer"
_FIRST_SEEDS = 2
_FAR = 3.0  # below so small a part of the limit a node needs neither a policy that waits nor one that learns
# How many times the limit the best of the others may be for those that wait, and for those that learn, to be tried.
_HOPELESS = (20.0, 3.0)
_AS_GOOD = 0.02
_NEAR = 1.5  # a policy that is so many times worse than the best of its node with the first seed gets no second one
_VARIED_POLICIES = 2
_UNCHANGED = "seeds"  # as the runs of the search are kept in the log, so that none of them is made twice
# What is being done, how many runs are done, and how many there will be as far as is known by now.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The recommendation (None where no node keeps the target), and all that it hangs on.

    `drawn` says whether seeds give other tasks; where they do not, one run is all there is to see. `rival` is the next
    best node within the budget, `current` is the best policy on the node that one has.
    """

    best: Trial | None
    cheaper: Trial | None
    nearest: Trial
    rival: Trial | None
    current: Trial | None
    trials: tuple[Trial, ...]
    variations: Mapping[str, str]
    assumptions: tuple[str, ...]
    tasks: int
    drawn: bool


def recommend(question: Question, progress: Progress | None = None, log: RunLog | None = None) -> Answer:
    """Search nodes and policies; pairs that are decided get no more seeds.

    Runs that the log knows are not made again.
    """
    search = _Search(question, log or RunLog(), progress)
    trials = sorted(search.trials(), key=lambda one: (one.price, *one.rank))
    batch = search.batches[0]
    best = _best(question, trials)
    return Answer(
        best=best,
        cheaper=None if question.target.is_best else _next_cheaper(trials, best),
        nearest=min(trials, key=lambda one: one.rank),
        rival=_rival(question, trials, best) if question.target.is_best else None,
        current=min((one for one in trials if one.node == question.current), key=lambda one: one.rank, default=None),
        trials=tuple(trials),
        variations={**_prices_otherwise(question, trials, best), **search.otherwise(trials)},
        assumptions=(*batch.assumptions, *notes(question, batch, skipped=len(search.skipped))),
        tasks=len(batch),
        drawn=search.drawn,
    )


class _Meter:
    """Counts the runs for whoever watches; a watcher that raises ends the search, whose log keeps what was done."""

    def __init__(self, told: Progress | None) -> None:
        self._told = told
        self._label, self._done, self._total = "reading the tasks", 0, 0

    def doing(self, label: str, runs: int, later: int = 0) -> None:
        """Begin so many runs of one kind, after which so many others will follow as far as is known."""
        self._label, self._total = label, self._done + runs + later
        self._tell()

    def one_more(self) -> None:
        """Count a run."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._tell()

    def _tell(self) -> None:
        if self._told is not None:
            self._told(self._label, self._done, self._total)


@dataclass(kw_only=True)
class _Found:
    """What is known of one node so far: the figures of each policy over the seeds."""

    figures: dict[str, list[Figures]] = field(default_factory=dict)
    cannot_run: int = 0
    load: float | None = None


class _Search:
    """Runs the policies on the nodes, each node as if it were alone."""

    def __init__(self, question: Question, log: RunLog, progress: Progress | None) -> None:
        self.question = question
        self.entrants = {one.name: one for one in question.entrants()}
        self._tiers = {name: _tier(one) for name, one in self.entrants.items()}
        self.skipped: set[str] = set()
        self.batches: dict[int, TaskBatch] = {}
        self.drawn = True
        self._log, self._meter = log, _Meter(progress)
        self._meter.doing("reading the tasks", len(question.searched) * len(self.entrants))
        self._batch(0)

    def trials(self) -> list[Trial]:
        """All nodes with all policies that were run on them."""
        nodes, found = self.question.searched, []
        self.drawn = self.question.seeds > 1 and self._batch(1) is not None
        for place, node in enumerate(nodes):
            self._left = len(nodes) - place - 1
            found += self._trials_of(node, self._judged(node))
        return found

    def _batch(self, step: int) -> TaskBatch | None:
        """The tasks of a seed; None where they are those of the first one."""
        if step not in self.batches:
            self.batches[step] = tasks_of(self.question, self.question.seed + step)
        return self.batches[step] if step == 0 or not _same(self.batches[0], self.batches[step]) else None

    def _judged(self, node: Candidate) -> _Found:
        found = _Found()
        for step in range(self.question.seeds):
            names = list(self.entrants) if step == 0 else _near(found) if step < _FIRST_SEEDS else self._open(found)
            batch = self._batch(step)
            if not names or batch is None:
                break
            tasks = NodeTasks(self.question, node, batch, self.question.seed + step)
            if step == 0:
                found.cannot_run, found.load = tasks.cannot_run, tasks.load
            seeds = min(_FIRST_SEEDS - 1, self.question.seeds - 1) if self.drawn else 0
            later = len(names) * max(0, seeds - step) + self._left * len(self.entrants) * (seeds + 1)
            self._meter.doing(f"{node.name}, seed {step + 1} of at most {self.question.seeds}", len(names), later)
            for tier in range(len(_HOPELESS) + 1):
                chosen = [name for name in names if self._tiers[name] == tier]
                if chosen and step == 0 and tier and self._is_far(found, _HOPELESS[tier - 1]):
                    self.skipped.add(node.name)
                else:
                    self._run(tasks, chosen, found, step)
        return found

    def _is_far(self, found: _Found, hopeless: float) -> bool:
        """Whether the best policy so far keeps the target with ease, or misses it by too much for any other."""
        limit = self.question.target.limit
        if self.question.target.is_best or not found.figures:
            return False
        least = min(one[0].worse for one in found.figures.values())
        return not limit / _FAR <= least <= limit * hopeless

    def _run(self, tasks: NodeTasks, names: Sequence[str], found: _Found, step: int) -> None:
        for name in names:
            key = f"{_UNCHANGED}|{self.question.seed + step}|{tasks.candidate.name}|{name}"
            found.figures.setdefault(name, []).append(self._figures(key, tasks, self.entrants[name]))

    def _figures(self, key: str, tasks: NodeTasks, policy: Entrant, *, is_counted: bool = True) -> Figures:
        figures = value_of_pair(self._log, key, lambda: tasks.run(policy))
        if is_counted:
            self._meter.one_more()
        return figures

    def _open(self, found: _Found) -> list[str]:
        """The policies that another seed could still change the judgement of this node by."""
        if self.question.target.is_best:
            return _contenders(found.figures)
        limit = self.question.target.limit
        verdicts = {
            name: {verdict_of(bounded_interval(column), limit) for column in zip(*figures, strict=True)}
            for name, figures in found.figures.items()
        }
        tried = [one for name, one in verdicts.items() if len(found.figures[name]) > 1]
        if found.cannot_run or {"kept"} in tried:
            return []
        most = max(map(len, found.figures.values()))
        return [name for name, one in verdicts.items() if "broken" not in one and len(found.figures[name]) == most]

    def _trials_of(self, node: Candidate, found: _Found) -> list[Trial]:
        seeds = min(_FIRST_SEEDS, max(map(len, found.figures.values())))
        return [
            Trial(
                node=node.name,
                policy=name,
                price=self.question.price(node),
                price_usd_h=node.price_usd_h,
                interval=bounded_interval([one.whole for one in figures]),
                peak=bounded_interval([one.peak for one in figures]),
                limit=self.question.target.limit,
                values=tuple(one.whole for one in figures),
                cannot_run=found.cannot_run,
                load=found.load,
                is_dropped=len(figures) < seeds,
            )
            for name, figures in found.figures.items()
        ]

    def otherwise(self, trials: Sequence[Trial]) -> dict[str, str]:
        """The answer if an assumption did not hold: the first seed's tasks, the best policies of each node."""
        found: dict[str, str] = {}
        changes = variations(self.question, self.batches[0])
        policies = {
            node.name: [one.policy for one in sorted(trials, key=lambda one: one.rank) if one.node == node.name][
                :_VARIED_POLICIES
            ]
            for node in self.question.affordable
        }
        usual = self._first_that_keeps(Variation(name=_UNCHANGED), policies, len(changes))
        for left, change in zip(range(len(changes) - 1, -1, -1), changes, strict=True):
            other = self._first_that_keeps(change, policies, left)
            found[change.name] = _SAME if other == usual else _pair_words(self.question, other, usual)
        return found

    def _first_that_keeps(self, change: Variation, policies: Mapping[str, Sequence[str]], left: int) -> _Pair | None:
        """The cheapest node that keeps the target (asked for the least value: the best one) and its best policy."""
        target, found = self.question.target, []
        batch = change.tasks(self.batches[0])
        if change.name != _UNCHANGED:
            runs = sum(map(len, policies.values()))
            self._meter.doing(f"with {change.name}", runs, runs * left)
        for node in self.question.affordable:
            tasks = NodeTasks(self.question, node, batch, self.question.seed, change.slower)
            if tasks.cannot_run:
                continue
            for name in policies[node.name]:
                key = f"{change.name}|{self.question.seed}|{node.name}|{name}"
                figures = self._figures(key, tasks, self.entrants[name], is_counted=change.name != _UNCHANGED)
                if not math.isnan(figures.whole) and figures.worse <= target.limit:
                    found.append((figures.whole, node.name, name, self.question.price(node)))
            if found and not target.is_best:
                break
        return _Pair(*min(found)[1:]) if found else None


@dataclass(frozen=True, slots=True)
class _Pair:
    node: str
    policy: str
    price: float


def _near(found: _Found) -> list[str]:
    """The policies that come near the best one of their node with the first seed."""
    least = min(one[0].worse for one in found.figures.values())
    return [name for name, one in found.figures.items() if one[0].worse <= _NEAR * least]


def _tier(policy: Entrant) -> int:
    """0: decides at once by a compiled rule; 1: waits, or runs step by step; 2: learns. The last take longest."""
    entry = available().get(policy.name.partition("@")[0])
    if entry is not None and entry.kind == "learner":
        return 2
    return 0 if with_rule(policy.make()) is not None else 1


def _same(one: TaskBatch, other: TaskBatch) -> bool:
    names = ("size", "compute_intensity", "memory_required", "arrival_time", "speedup_factor", "duration_factor")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names)


def _contenders(figures: Mapping[str, Sequence[Figures]]) -> list[str]:
    """The policies of a node that may still be the best one there, where more seeds could tell."""
    values = {name: [one.worse for one in found] for name, found in figures.items()}
    most = max(map(len, values.values()))
    full = {name: found for name, found in values.items() if len(found) == most}
    best = min(full, key=lambda name: (float(np.mean(full[name])), name))
    near = _AS_GOOD * float(np.mean(full[best]))
    found = []
    for name, column in full.items():
        gap = t_interval(np.subtract(column, full[best]))
        if name != best and math.isfinite(gap.mean) and gap.low <= near and gap.half_width > near:
            found.append(name)
    return [best, *found] if found else []


def _best(
    question: Question, trials: Sequence[Trial], own: tuple[str, float] = ("", 1.0), others: float = 1.0
) -> Trial | None:
    """The cheapest that keeps the target, or the best within the budget; prices may be multiplied."""
    most = math.inf if question.budget is None else question.budget.amount

    def price(one: Trial) -> float:
        return one.price * (own[1] if one.node == own[0] else others)

    kept = [one for one in trials if one.verdict == "kept" and price(one) <= most]
    if question.target.is_best:
        return min(kept, key=lambda one: one.rank, default=None)
    return min(kept, key=lambda one: (price(one), *one.rank), default=None)


def _next_cheaper(trials: Sequence[Trial], best: Trial | None) -> Trial | None:
    """The best policy on the dearest node that is cheaper than the answer's: what it would break."""
    below = [one for one in trials if best is not None and one.price < best.price]
    return min(below, key=lambda one: (-one.price, one.rank), default=None)


def _rival(question: Question, trials: Sequence[Trial], best: Trial | None) -> Trial | None:
    """The best policy on the best other node within the budget."""
    if best is None:
        return None
    return _best(question, [one for one in trials if one.node != best.node])


def _prices_otherwise(question: Question, trials: Sequence[Trial], best: Trial | None) -> dict[str, str]:
    """The answer at other prices; nothing has to be run for it."""
    if best is None or len(question.nodes) == 1:
        return {}
    usual, found = _Pair(best.node, best.policy, best.price), {}
    for name, (own, others) in PRICES.items():
        one = _best(question, trials, (best.node, own), others)
        other = (
            None if one is None else _Pair(one.node, one.policy, one.price * (own if one.node == best.node else others))
        )
        is_same = other is not None and other.node == usual.node
        found[name] = _SAME if is_same else _pair_words(question, other, usual)
    return found


def _pair_words(question: Question, other: _Pair | None, usual: _Pair | None) -> str:
    if other is None:
        return "no node keeps the target"
    if usual is not None and other.node == usual.node:
        return f"{SAME_NODE} node with {label_of(other.policy)}"
    return f"{other.node} with {label_of(other.policy)}, for {question.price_words(other.price)}"
