"""`check_scheduler` lets honest strategies pass and catches every kind of cheater with one sentence."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import (
    BatchRule,
    ClusterView,
    Decision,
    Outcome,
    RaceContext,
    RuleKind,
    Scheduler,
    Task,
    TaskBatch,
    stream,
)
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView
from hybrid_ml_scheduler.schedulers import check_scheduler, create
from tests.golden.cases import STRATEGIES
from tests.properties.forms import HOLDING


class Honest:
    """The whole task to the least loaded GPU, or to the CPU if that is free."""

    name = "honest"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=0.0 if cluster.cpu_backlog_s == 0.0 else 1.0)


class Nameless(Honest):
    name = ""


class Spaced(Honest):
    name = "two words"


class Numbered(Honest):
    name = 7  # type: ignore[assignment]


class Says(Honest):
    """Always says the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        answer: Decision = self.answer
        return answer


class Thief(Honest):
    """Empties the queues it is shown."""

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        cluster.gpu_backlogs_s[0] = 0.0  # type: ignore[index]
        return Decision(gpu_fraction=1.0)


class Gambler(Honest):
    """Draws from a generator of its own that nobody seeded."""

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=random.random())


class Gossip(Honest):
    """Carries knowledge from one instance to the next."""

    calls = itertools.count()

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=float(next(self.calls) % 7) / 7)


class Forgetful(Honest):
    """Alternates, but its memory does not hold whose turn it is."""

    def __init__(self) -> None:
        self.turn = 0

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.turn += 1
        return Decision(gpu_fraction=float(self.turn % 3 == 0))

    def capture(self) -> Mapping[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn = 1


class Locked(Honest):
    """Has a memory that cannot be written down."""

    def capture(self) -> Mapping[str, Any]:
        return {"how": lambda: 1}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Never reached."""


class TwoFaced(Honest):
    """Compiled, it is another strategy."""

    def rule(self, batch: TaskBatch) -> BatchRule:
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.full(len(batch), 0.5))


class OtherGpu(Honest):
    """Compiled, it uses another GPU (on nodes that have one)."""

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=1.0, gpu=0)

    def rule(self, batch: TaskBatch) -> BatchRule:
        gpus = np.full(len(batch), -1, dtype=np.int64)
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.ones(len(batch)), gpus=gpus)


class ShortRule(Honest):
    """Compiled, it forgets the last task."""

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=0.0)

    def rule(self, batch: TaskBatch) -> BatchRule:
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.zeros(len(batch) - 1))


class Turns(Honest):
    """Every third task to a GPU, and `rule_ahead` for it as it should be."""

    def __init__(self) -> None:
        self.turn = 0

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.turn += 1
        return Decision(gpu_fraction=float(self.turn % 3 == 0))

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        turns = self.turn + 1 + np.arange(len(batch))
        self.turn += len(batch)
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.where(turns % 3 == 0, 1.0, 0.0))

    def capture(self) -> Mapping[str, Any]:
        return {"turn": self.turn}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn = state["turn"]


class Shortsighted(Turns):
    """Ahead, it is another strategy."""

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.zeros(len(batch)))


class Standing(Turns):
    """Says what comes and does not move on."""

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        rule = super().rule_ahead(batch)
        self.turn -= len(batch)
        return rule


class Evasive(Turns):
    """Moves on although it leaves the decisions to `decide`."""

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        self.turn += 1
        return None


class Miscounting(Turns):
    """Decides alike, with another number in its memory."""

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        rule = super().rule_ahead(batch)
        self.turn += 3
        return rule


class NoDecide:
    """Not a strategy at all."""

    name = "no_decide"


class Demanding(Honest):
    """Needs what nobody gives it."""

    def __init__(self, price: float) -> None:
        self.price = price


class Crashing(Honest):
    """Raises in the place it is told to."""

    name = "crashing"
    where = "decide"

    def _pass(self, place: str) -> None:
        if self.where == place:
            raise KeyError("boom")

    def prepare(self, context: RaceContext) -> None:
        self._pass("prepare")

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        if task.task_id == 3:
            self._pass("decide")
        return Decision(gpu_fraction=0.5)

    def observe(self, task: Task, outcome: Outcome) -> None:
        self._pass("observe")

    def capture(self) -> Mapping[str, Any]:
        self._pass("capture")
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._pass("restore")

    def rule(self, batch: TaskBatch) -> BatchRule:
        self._pass("rule")
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.full(len(batch), 0.5))


def crashing(place: str) -> type[Crashing]:
    return type("Crashing", (Crashing,), {"where": place})


CHEATERS: list[tuple[Callable[[], Any], str]] = [
    (NoDecide, r"NoDecide is no strategy: it needs a `name` and a method `decide\(task, cluster\)`"),
    (Honest(), "takes the class Honest itself"),  # type: ignore[list-item]
    (Demanding, "'Demanding' cannot be made without arguments: TypeError.*'price'"),  # type: ignore[list-item]
    (crashing("prepare"), "'crashing' cannot be prepared: KeyError: 'boom'"),
    (crashing("decide"), "'crashing' cannot be asked about task 3: KeyError: 'boom'"),
    (crashing("observe"), "'crashing' cannot be told the outcome of task 0: KeyError: 'boom'"),
    (crashing("capture"), "'crashing' cannot be captured: KeyError: 'boom'"),
    (crashing("restore"), "'crashing' cannot be restored: KeyError: 'boom'"),
    (crashing("rule"), "'crashing' cannot be asked for its rule: KeyError: 'boom'"),
    (Nameless, "name"),
    (Spaced, "name"),
    (Numbered, "name"),
    (lambda: Says(0.5), "must return a Decision, not float"),
    (lambda: Says(None), "must return a Decision, not NoneType"),
    (lambda: Says(Decision(gpu_fraction=1.01)), "gpu_fraction = 1.01"),
    (lambda: Says(Decision(gpu_fraction=-0.1)), "gpu_fraction = -0.1"),
    (lambda: Says(Decision(gpu_fraction=math.nan)), "gpu_fraction = nan"),
    (lambda: Says(Decision(gpu_fraction="half")), "gpu_fraction = half"),  # type: ignore[arg-type]
    (lambda: Says(Decision(gpu_fraction=1.0, gpu=3)), "GPU 3 does not exist on a node of 1"),
    (lambda: Says(Decision(gpu_fraction=1.0, gpu=-1)), "GPU -1 does not exist"),
    (lambda: Says(Decision(gpu_fraction=1.0, gpu=0.5)), "GPU 0.5 does not exist"),  # type: ignore[arg-type]
    (Thief, "changed the cluster"),
    (Gambler, "same seed decide differently"),
    (Gossip, "same seed decide differently"),
    (Forgetful, "restored strategy decides differently"),
    (Locked, "captured state cannot be stored"),
    (TwoFaced, "rule and decide differ for task"),
    (OtherGpu, "rule and decide differ for task"),
    (ShortRule, "no share for task"),
    (Shortsighted, "rule_ahead and decide differ for task 2"),
    (Standing, "after rule_ahead, task 20 is decided differently"),
    (Evasive, "after rule_ahead, task 1 is decided differently"),
    (Miscounting, "rule_ahead leaves another captured state"),
]


def test_an_honest_strategy_passes() -> None:
    check_scheduler(Honest)


def test_an_honest_view_ahead_passes() -> None:
    check_scheduler(Turns)


def test_the_forest_decides_ahead_as_it_does_one_by_one() -> None:
    check_scheduler(lambda: create("hybrid_ml", {"mode": "share", "window": 30}))


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_that_does_not_learn_keeps_the_contract(name: str) -> None:
    check_scheduler(lambda: create(name))


def test_the_variant_of_round_robin_keeps_the_contract() -> None:
    check_scheduler(lambda: create("round_robin", {"variant": "half"}))


@pytest.mark.parametrize(("make", "sentence"), CHEATERS)
def test_a_cheater_is_caught(make: Callable[[], Scheduler], sentence: str) -> None:
    with pytest.raises(SchedulerError, match=sentence) as caught:
        check_scheduler(make)
    assert "\n" not in str(caught.value)


class Careful(Honest):
    """Random, seeded by the race, and able to go on after a checkpoint."""

    name = "careful"

    def prepare(self, context: RaceContext) -> None:
        self.rng = stream(context.seed, "scheduler", self.name)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=float(self.rng.random()))

    def capture(self) -> Mapping[str, Any]:
        return {"rng": self.rng.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.rng.bit_generator.state = state["rng"]


def test_seeded_luck_and_an_honest_memory_pass() -> None:
    check_scheduler(Careful)


class HoldsTwo:
    """Commits the oldest held task to an idle GPU 0, and never more than that."""

    name = "holds_two"

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        return None

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        if cluster.idle[1] and len(held):
            yield Commitment(next(iter(held)).task_id, Decision(gpu_fraction=1.0, gpu=0))


class HoldsForEver(HoldsTwo):
    name = "holds_for_ever"

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        return iter(())


class CommitsStrangers(HoldsTwo):
    name = "commits_strangers"

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        yield Commitment(-1, Decision(gpu_fraction=1.0))


def test_a_strategy_that_holds_passes_and_says_not_yet() -> None:
    check_scheduler(HoldsTwo)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in HOLDING), ("sjf", {"aging": 1.5})])
def test_built_in_strategies_that_hold_pass(name: str, options: dict[str, float]) -> None:
    steps = {"steps": 300} if name == "local_search" else {}
    check_scheduler(lambda: create(name, {**options, **steps}))


def test_a_dispatch_that_breaks_the_contract_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchedulerError, match=r"holds_for_ever: \d+ tasks are held while every device is idle\."):
        check_scheduler(HoldsForEver)  # type: ignore[arg-type]
    with pytest.raises(SchedulerError, match=r"commits_strangers: dispatch committed task -1, which it does not hold"):
        check_scheduler(CommitsStrangers)  # type: ignore[arg-type]
